"""A script that talks to an agent without `await`; it works in a notebook as it stands.

    python examples/blocking_client.py [COMMAND …]

Ctrl-C cancels the turn that is running.
"""

import sys
from pathlib import Path

from dragoman.blocking import Client, connect
from dragoman.schema.v1 import AgentMessageChunk, ReadTextFileRequest, ReadTextFileResponse, TextContent

client = Client("line-counter-script")


@client.read_text_file
def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
    return ReadTextFileResponse(content=Path(request.path).read_text(encoding="utf-8"))


def main(command: list[str]) -> None:
    with connect(command, client=client) as agent:
        session = agent.new_session(cwd=str(Path.cwd()))
        turn = session.prompt(__file__)
        for update in turn:
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                print(update.content.text, end="", flush=True)
        print(f"\n({turn.result.stop_reason})")


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable, str(Path(__file__).with_name("blocking_agent.py"))])
