"""A raw agent that plays a story of `tests/golden/faces`; `python golden_agent.py FILE` speaks over stdio.

It shares no code with us. In each prompt it says the frames of the story, in which `main` is the session and
`kid` a subagent, and asks what the story asks. When all is answered, or the turn is cancelled where the story
waits for that, it answers the prompt as the story does.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

STORY: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
CAPABILITIES = {"loadSession": False}


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def play(prompt: dict[str, Any]) -> None:
    session = prompt["params"]["sessionId"]
    for step in STORY["says"]:
        text = json.dumps(step).replace('"main"', json.dumps(session)).replace('"kid"', f'"kid-of-{session}"')
        frame = json.loads(text)
        if "wait_for_cancel_of" in frame:
            wait_for_cancel(frame["wait_for_cancel_of"])
        elif "method" in frame:
            write(id=f"ask-{frame['method']}", **frame)
            while "method" in read():
                pass
        else:
            write(method="session/update", params=frame)
    write(id=prompt["id"], **STORY["answer"])


def wait_for_cancel(session: str) -> None:
    while (message := read()).get("method") != "session/cancel" or message["params"]["sessionId"] != session:
        pass


def main() -> None:
    sessions = 0
    while True:
        message = read()
        match message.get("method"):
            case "initialize":
                info = {"name": STORY["agent"], "version": "1"}
                result = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": CAPABILITIES}
                write(id=message["id"], result=result)
            case "session/new":
                sessions += 1
                write(id=message["id"], result={"sessionId": f"session-{os.getpid()}-{sessions}"})
            case "session/prompt":
                play(message)
            case str() if "id" in message:
                write(id=message["id"], error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()
