"""An agent that does not want to end: it ignores signals and the end of its input, and so does its child.

`stubborn_agent.py FILE WHERE` writes its process id and its child's into FILE once both are deaf. WHERE says
in which part of a conversation it stops to answer: `start`, `turn`, or `question`, in which it waits for a
permission. It uses the standard library alone, so that it starts quickly.
"""

import json
import os
import signal
import sys
import time
from typing import Any

DEAF_TO = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def main(file: str, where: str) -> None:
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        _stay()
    if where == "start":
        _tell(file, child)
        _stay()
    for line in sys.stdin.buffer:
        _answer(json.loads(line), file, child, where)
    _stay()


def _answer(message: dict[str, Any], file: str, child: int, where: str) -> None:
    match message.get("method"):
        case "initialize":
            _send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
        case "session/new":
            _send(id=message["id"], result={"sessionId": "s"})
        case "session/prompt":
            if where == "question":
                options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
                call = {"toolCallId": "c", "title": "Do it", "kind": "execute"}
                params = {"sessionId": "s", "toolCall": call, "options": options}
                _send(id=1, method="session/request_permission", params=params)
            _tell(file, child)


def _send(**fields: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def _tell(file: str, child: int) -> None:
    with open(f"{file}.part", "w") as part:
        part.write(f"{os.getpid()} {child}")
    os.rename(f"{file}.part", file)


def _stay() -> None:
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:3])
