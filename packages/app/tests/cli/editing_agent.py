"""An agent on raw lines that edits files as the lines of its prompt say, `PATH: TEXT`: it asks and announces
each edit. `$ COMMAND` runs a command. `? PATH: TEXT` is an edit in silence, and `! PATH: TEXT` one in silence
after the answer: both look like a person's.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODEL = {
    "id": "model",
    "name": "Model",
    "type": "select",
    "category": "model",
    "currentValue": "acme/large-2",
    "options": [{"value": "acme/large-2", "name": "Large"}],
}
FORKS: dict[str, Any] = {"sessionCapabilities": {"fork": {}}} if "--forks" in sys.argv else {}

numbers = itertools.count(1)
late_lines: list[tuple[str, str]] = []


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    frame: dict[str, Any] = json.loads(line)
    return frame


def work(session: str, prompt: str) -> None:
    for number, line in enumerate(prompt.splitlines(), 1):
        if line.startswith("$ "):
            run(session, line[2:], f"run-{number}")
        elif line.startswith("? "):
            write(line[2:])
        elif line.startswith("! "):
            late_lines.append((session, line[2:]))
        else:
            edit(session, line, number)


def run(session: str, command: str, call: str) -> None:
    update = {"toolCallId": call, "title": command, "kind": "execute", "status": "in_progress"}
    params = {"sessionId": session, "update": {"sessionUpdate": "tool_call", **update}}
    send(method="session/update", params=params)
    subprocess.run(command, shell=True, check=True)
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"}
    send(method="session/update", params={"sessionId": session, "update": update})


def write(line: str) -> None:
    name, _, text = line.partition(": ")
    Path(name).write_text(f"{text}\n")


def write_late(session: str, line: str) -> None:
    """Once the client has the answer: it answers in order."""
    params = {"sessionId": session, "path": str(Path.cwd() / "a.py")}
    send(id=f"late-{next(numbers)}", method="fs/read_text_file", params=params)
    while "method" in receive():
        pass
    now = time.time()
    write(line)
    while Path(line.partition(": ")[0]).stat().st_ctime <= now:
        write(line)


def edit(session: str, prompt: str, number: int) -> None:
    name, _, text = prompt.partition(": ")
    path, call = Path.cwd() / name, f"call-{name}" + (f"-{number}" if number > 1 else "")
    old = path.read_text() if path.exists() else ""
    new = f"{old}{text}\n"
    thought = {
        "sessionUpdate": "agent_thought_chunk",
        "content": {"type": "text", "text": f"It is time for {name}."},
    }
    send(method="session/update", params={"sessionId": session, "update": thought})
    content = [{"type": "diff", "path": str(path), "oldText": old, "newText": new}]
    update = {"toolCallId": call, "title": f"Edit {name}", "kind": "edit", "content": content}
    options = [{"optionId": "yes", "name": "Allow it once", "kind": "allow_once"}]
    request = {"sessionId": session, "toolCall": update, "options": options}
    send(id=f"ask-{next(numbers)}", method="session/request_permission", params=request)
    while "method" in receive():
        pass
    params = {"sessionId": session, "update": {"sessionUpdate": "tool_call", "status": "completed", **update}}
    path.write_text(new)
    send(method="session/update", params=params)
    if text.endswith("# tested"):
        update = {"toolCallId": "test", "title": "make test", "kind": "execute", "status": "failed"}
        params = {"sessionId": session, "update": {"sessionUpdate": "tool_call", **update}}
        send(method="session/update", params=params)


def main() -> None:
    while True:
        frame = receive()
        result: dict[str, Any] = {}
        if frame.get("method") == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True, **FORKS}}
        elif frame.get("method") == "session/fork":
            result = {"sessionId": f"{frame['params']['sessionId']}-fork"}
        elif frame.get("method") == "session/new":
            name = Path.cwd().name
            session = "edits" if name == "work" else f"edits-{name}"
            result = {"sessionId": session, "configOptions": [MODEL]}
        elif frame.get("method") == "session/prompt":
            work(frame["params"]["sessionId"], frame["params"]["prompt"][-1]["text"])
            result = {"stopReason": "end_turn"}
        if "id" in frame and "method" in frame:
            send(id=frame["id"], result=result)
        while late_lines:
            write_late(*late_lines.pop())


if __name__ == "__main__":
    main()
