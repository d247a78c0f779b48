"""An agent that keeps its sessions as Gemini CLI 0.61 does: in files that are named by the minute.

On `session/load` it begins the file of this minute before it looks for the session. In the minute in which
the session began, that is the session's own file: its conversation is lost, and the answer is Gemini's. The
minute is read from the file `minute` of its home, so that a test need not wait.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from dragoman import Agent, ClientHandle, Turn, serve
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import LoadSessionRequest, NewSessionRequest, NewSessionResponse

HOME = Path(os.environ["HOME"])
SPEECH = "The word is pomegranate."

agent = Agent("minute")


def begin_file(session_id: str) -> None:
    minute = (HOME / "minute").read_text().strip()
    (HOME / f"session-{minute}-{session_id}").write_text("")


def files_of(session_id: str) -> list[Path]:
    return sorted(HOME.glob(f"session-*-{session_id}"))


@agent.new_session
async def new_session(request: NewSessionRequest) -> NewSessionResponse:
    session_id = str(uuid4())
    begin_file(session_id)
    return NewSessionResponse(session_id=session_id)


@agent.load_session
async def load_session(request: LoadSessionRequest, client: ClientHandle) -> None:
    begin_file(request.session_id)
    conversations = [text for path in files_of(request.session_id) if (text := path.read_text())]
    if not conversations:
        details = {"details": f'Invalid session identifier "{request.session_id}".'}
        raise ErrorAnswer(-32603, "Internal error", details)
    await client.sessions[request.session_id].say(conversations[0])


@agent.prompt
async def prompt(turn: Turn) -> None:
    with files_of(turn.session.id)[-1].open("a") as file:
        file.write(SPEECH)
    await turn.say(SPEECH)


if __name__ == "__main__":
    serve(agent)
