"""An agent on raw JSON lines that does what a script file says. It knows nothing of Dragoman.

    python agent.py SCRIPTS SESSION

A new session has the id SESSION. The end of a prompt, `(task NAME)`, names the script `SCRIPTS/NAME.json`: a
list of steps. What goes through the client is a call to it; the rest the agent does by its own hand, behind a
tool call that announces it, as agents do that edit in their own process.

    {"do": "lent", "path": …, "text": …, "shown": [old, new]}     fs/write_text_file
    {"do": "own", "act": {…}, "shown": […]}                       an edit of its own
    {"do": "terminal", "act": {…}}                                a command in a terminal of the client
    {"do": "shell", "act": {…}}                                   a command of its own
    {"do": "review", "paths": […]}                                it reads, and talks
    {"do": "silent", "act": {…}}                                  an edit that nothing announces
    {"do": "wait", "seconds": …}, {"do": "mark", "path": …}, {"do": "until", "path": …}   for who watches
    {"do": "note", "path": …}                                     the number of its process
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from apply import apply  # type: ignore[import-not-found]

HERE = os.path.abspath("")
APPLY = Path(__file__).with_name("apply.py").read_text(encoding="utf-8")
numbers = itertools.count(1)
calls = itertools.count(1)


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit  # the client has gone, and nobody reads what we would do
    frame: dict[str, Any] = json.loads(line)
    return frame


class Turn:
    def __init__(self, session: str, name: str) -> None:
        self.session = session
        self.name = name

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = f"{self.name}.{next(numbers)}"
        send({"id": number, "method": method, "params": {"sessionId": self.session, **params}})
        while (frame := receive()).get("id") != number:
            pass
        if "result" not in frame:
            raise SystemExit(f"{method} was refused: {frame}")
        return frame["result"] or {}

    def update(self, update: dict[str, Any]) -> None:
        send({"method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def announce(self, kind: str, title: str, **more: Any) -> str:
        call = f"{self.name}-call{next(calls)}"
        self.update(
            {"sessionUpdate": "tool_call", "toolCallId": call, "title": title, "kind": kind, **more}
            | {"status": "in_progress"}
        )
        return call

    def complete(self, call: str) -> None:
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"})

    def diff(self, path: str, shown: list[str]) -> list[dict[str, Any]]:
        return [{"type": "diff", "path": f"{HERE}/{path}", "oldText": shown[0], "newText": shown[1]}]

    def lent(self, step: dict[str, Any]) -> None:
        path = f"{HERE}/{step['path']}"
        content = self.diff(step["path"], step["shown"])
        call = self.announce("edit", f"Edit {step['path']}", locations=[{"path": path}], content=content)
        if os.path.exists(path):  # a client refuses to overwrite what has changed since it was read
            self.ask("fs/read_text_file", {"path": path})
        self.ask("fs/write_text_file", {"path": path, "content": step["text"]})
        self.complete(call)

    def own(self, step: dict[str, Any]) -> None:
        act = step["act"]
        paths = [*act.get("writes", {}), *itertools.chain.from_iterable(act.get("renames", []))]
        content = [part for path, shown in step.get("shown", {}).items() for part in self.diff(path, shown)]
        places = [{"path": f"{HERE}/{path}"} for path in paths]
        kind = "move" if act.get("renames") else "edit"
        call = self.announce(kind, f"Edit {', '.join(paths)}", locations=places, content=content)
        apply(act)
        self.complete(call)

    def shell(self, step: dict[str, Any]) -> None:
        call = self.announce("execute", "python3 generate.py", rawInput={"command": "python3 generate.py"})
        apply(step["act"])
        self.complete(call)

    def terminal(self, step: dict[str, Any]) -> None:
        arguments = ["-I", "-S", "-c", APPLY, json.dumps(step["act"])]
        terminal = self.ask("terminal/create", {"command": sys.executable, "args": arguments, "cwd": HERE})[
            "terminalId"
        ]
        content = [{"type": "terminal", "terminalId": terminal}]
        call = self.announce("execute", "Run the generator", content=content)
        status = self.ask("terminal/wait_for_exit", {"terminalId": terminal})
        if status.get("exitCode") != 0:
            told = self.ask("terminal/output", {"terminalId": terminal})
            raise SystemExit(f"the command ended with {status}: {told}")
        self.ask("terminal/release", {"terminalId": terminal})
        self.complete(call)

    def review(self, step: dict[str, Any]) -> None:
        for path in step["paths"]:
            call = self.announce("read", f"Read {path}", locations=[{"path": f"{HERE}/{path}"}])
            text = self.ask("fs/read_text_file", {"path": f"{HERE}/{path}"})["content"]
            self.complete(call)
            # What is said repeats lines of the file: a word is no edit.
            quoted = "\n".join(text.splitlines()[:5])
            self.say(f"I read {path} and changed nothing. It begins with:\n{quoted}")

    def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "content": content})

    def do(self, step: dict[str, Any]) -> None:
        match step["do"]:
            case "silent":
                apply(step["act"])
            case "wait":
                time.sleep(step["seconds"])
            case "mark":
                Path(step["path"]).touch()
            case "note":
                Path(step["path"]).write_text(str(os.getpid()), encoding="utf-8")
            case "until":
                while not os.path.exists(step["path"]):
                    time.sleep(0.01)
            case name:
                getattr(self, name)(step)


def main(scripts: Path, session: str) -> None:
    while True:
        frame = receive()
        params = frame.get("params") or {}
        match frame.get("method"):
            case "initialize":
                info = {"name": "lab", "version": "1"}
                result: dict[str, Any] = {"protocolVersion": 1, "agentInfo": info}
                result["agentCapabilities"] = {"loadSession": True}
            case "session/new":
                result = {"sessionId": session}
            case "session/prompt":
                text = "".join(block.get("text", "") for block in params["prompt"])
                named = re.findall(r"\(task ([\w-]+)\)", text)
                turn = Turn(params["sessionId"], named[-1])
                for step in json.loads((scripts / f"{named[-1]}.json").read_text(encoding="utf-8")):
                    turn.do(step)
                turn.say("Done.")
                result = {"stopReason": "end_turn"}
            case _:
                result = {}
        if "id" in frame and "method" in frame:
            send({"id": frame["id"], "result": result})


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
