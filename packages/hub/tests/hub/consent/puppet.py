"""An agent on raw JSON lines that does what its prompt says, in the words of one edge: `puppet.py EDGE`.

A prompt is a JSON list of steps. An act is `{"write": path, "text": …}`, `{"read": path}`, `{"own": line}` or
`{"run": words, "cwd": …, "env": …}`.

| step | what the agent does |
|---|---|
| `{"announce": act}` | tells of a tool call |
| `{"ask": act, "is_bare": …}` | asks for permission; bare: by the id of the announced call alone |
| `{"wait": path}` | waits until somebody opens the pipe at this path |
| `{"do": act, "mark": …}` | does it with what it is lent, permitted or not; its own if permitted |

Whatever is new in the session's folder after an act is kept in `done/MARK` beside it, so that the disk tells
which of the acts had an effect. Of ours this imports nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

Frame = dict[str, Any]

INITIAL = frozenset({"secret.txt", "other.txt", "link.txt", "touch", "sub/secret.txt"})
"""What lies in the session's folder before."""

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]

CROW_OPTIONS = [
    {"id": "approve", "title": "Go on", "is_primary": True},
    {"id": "always", "title": "Always", "kind": "allow_always"},
    {"id": "reject", "title": "No"},
]

INTRODUCTIONS: dict[str, Frame] = {
    "v1": {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True},
        "agentInfo": {"name": "puppet", "version": "1"},
    },
    "v2": {
        "protocolVersion": 2,
        "info": {"name": "puppet", "version": "1"},
        "capabilities": {"session": {"prompt": {}}},
    },
    "crow": {
        "protocol_version": 1,
        "agent_capabilities": {"prompt_capabilities": {"text": True}},
        "agent_info": {"name": "puppet", "title": "Puppet", "version": "1"},
    },
    "haven": {"protocolVersion": 1, "capabilities": {}},
    "koog": {
        "protocolVersion": 1,
        "capabilities": {"tools": [{"name": "work", "description": "Works", "inputSchema": {}}]},
        "serverInfo": {"name": "puppet", "version": "1"},
    },
    "acpex": {
        "protocolVersion": 1,
        "agentCapabilities": {"sessions": {"new": True, "load": False}},
        "meta": {"name": "puppet", "version": "1"},
        "authenticationMethods": [],
    },
}


class Evidence:
    """What an act leaves in the folder, kept where the test looks for it."""

    def __init__(self, here: Path, mark: str) -> None:
        self._here = here
        self._place = here.parent / "done" / mark
        self._before = self._files()

    def _files(self) -> dict[Path, tuple[int, int]]:
        """A file that is written again is another one, with the same text."""
        files = {path: path.stat() for path in self._here.rglob("*") if path.is_file()}
        return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in files.items()}

    def keep(self) -> None:
        for path, version in self._files().items():
            if version != self._before.get(path):
                self._keep_text(str(path.relative_to(self._here)), path.read_text())
            if path.suffix == "":  # a command leaves it, and is to leave it again
                self._remove(path)

    def keep_text(self, text: str) -> None:
        """What the agent got to read, or did itself."""
        self._keep_text("kept.txt", text)

    def refuse(self, why: str) -> None:
        """For whoever reads of a row that went wrong."""
        with (self._here.parent / "refusals").open("a") as file:
            file.write(f"{self._place.name}: {why}\n")

    def _keep_text(self, name: str, text: str) -> None:
        place = self._place / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def _remove(self, path: Path) -> None:
        if str(path.relative_to(self._here)) not in INITIAL:
            path.unlink()


def wait_for(pipe: str) -> None:
    Path(pipe).read_text()


def steps_in(text: str) -> list[Frame]:
    """The hub may have put something before the steps."""
    steps: list[Frame] = json.loads(text[text.index('[{"here"') :])
    return steps


def tool_call(act: Frame, number: str) -> Frame:
    """An act as a tool call of v1."""
    call: Frame = {"toolCallId": number, "title": "Work", "status": "pending"}
    if "write" in act:
        diff = {"type": "diff", "path": act["write"], "oldText": None, "newText": act["text"]}
        return {**call, "kind": "edit", "content": [diff], "locations": [{"path": act["write"]}]}
    if "read" in act:
        return {
            **call,
            "kind": "read",
            "rawInput": {"path": act["read"]},
            "locations": [{"path": act["read"]}],
        }
    line = act["own"] if "own" in act else shlex.join(act["run"])
    more = {"env": act["env"]} if act.get("env") else {}
    return {**call, "kind": "execute", "rawInput": {"command": line, "cwd": act["cwd"], **more}}


def lent_request(act: Frame) -> tuple[str, Frame]:
    """The request of v1 that does an act."""
    if "write" in act:
        return "fs/write_text_file", {"path": act["write"], "content": act["text"]}
    if "read" in act:
        return "fs/read_text_file", {"path": act["read"]}
    env = [{"name": name, "value": value} for name, value in act.get("env", {}).items()]
    command, *words = act["run"]
    return "terminal/create", {"command": command, "args": words, "cwd": act["cwd"], "env": env}


class Puppet:
    """v1, and what the other edges have in common with it."""

    edge = "v1"

    def __init__(self) -> None:
        self.sessions = 0
        self.cancelled: set[str] = set()
        self._numbers = self._calls = 0
        self._answers: dict[Any, SimpleQueue[Frame]] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" in message:
                self.serve(message["method"], message, message.get("params") or {})
            elif message.get("id") in self._answers:
                self._answers[message["id"]].put(message)

    def send(self, **frame: Any) -> None:
        with self._lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
            sys.stdout.flush()

    def request(self, method: str, params: Frame) -> Frame:
        """Ask, and wait for the answer."""
        return self.answer_to(lambda number: self.send(id=number, method=method, params=params))

    def answer_to(self, ask: Callable[[str], None]) -> Frame:
        with self._lock:
            self._numbers += 1
            number = f"ask-{os.getpid()}-{self._numbers}"
            self._answers[number] = SimpleQueue()
        ask(number)
        return self._answers[number].get()

    def settle(self, number: str, message: Frame) -> None:
        self._answers[number].put(message)

    def update(self, session: str, **fields: Any) -> None:
        self.send(method="session/update", params={"sessionId": session, "update": fields})

    # What the hub says.

    def serve(self, method: str, message: Frame, params: Frame) -> None:
        match method:
            case "initialize":
                self.send(id=message["id"], result=INTRODUCTIONS[self.edge])
            case "session/new":
                self.send(id=message["id"], result={"sessionId": self.new_session()})
            case "session/prompt":
                self.begin_turn(message, params)
            case "session/cancel":
                self.cancelled.add(params["sessionId"])
            case _ if "id" in message:
                self.send(id=message["id"], result={})

    def new_session(self) -> str:
        self.sessions += 1
        return f"{self.edge}-{os.getpid()}-{self.sessions}"

    def new_call(self) -> str:
        with self._lock:
            self._calls += 1
            return f"call-{os.getpid()}-{self._calls}"

    def begin_turn(self, message: Frame, params: Frame) -> None:
        session = params.get("sessionId") or params.get("session_id") or params["threadId"]
        blocks = params.get("prompt") or params.get("content") or params["message"]["chunks"]
        text = "".join(block.get("text") or block.get("chunk") or "" for block in blocks)
        self.cancelled.discard(session)
        threading.Thread(target=self.play, args=(message["id"], session, text), daemon=True).start()

    def play(self, request_id: Any, session: str, text: str) -> None:
        first, *steps = steps_in(text)
        here = Path(first["here"])
        number, is_permitted = "", False
        for step in steps:
            if "announce" in step:
                number = self.new_call()
                self.announce(session, tool_call(step["announce"], number))
            elif "ask" in step:
                number = number or self.new_call()
                is_permitted = self.ask(session, tool_call(step["ask"], number), is_bare=step["is_bare"])
            elif "wait" in step:
                wait_for(step["wait"])
            elif "own" in step["do"]:
                if is_permitted:
                    Evidence(here, step["mark"]).keep_text(step["do"]["own"])
                number, is_permitted = "", False
            else:
                self.do(session, step["do"], Evidence(here, step["mark"]))
        self.end_turn(request_id, session)

    def end_turn(self, request_id: Any, session: str) -> None:
        self.send(id=request_id, result={"stopReason": self.stop_reason(session)})

    def stop_reason(self, session: str) -> str:
        return "cancelled" if session in self.cancelled else "end_turn"

    # What it does.

    def announce(self, session: str, call: Frame) -> None:
        self.update(session, sessionUpdate="tool_call", **call)

    def ask(self, session: str, call: Frame, *, is_bare: bool) -> bool:
        asked = {"toolCallId": call["toolCallId"]} if is_bare else call
        params = {"sessionId": session, "toolCall": asked, "options": OPTIONS}
        return _permits(self.request("session/request_permission", params))

    def do(self, session: str, act: Frame, evidence: Evidence) -> None:
        method, params = lent_request(act)
        answer = self.request(method, {"sessionId": session, **params})
        if "read" in act and "result" in answer:
            evidence.keep_text(answer["result"]["content"])
        elif "run" in act and "result" in answer:
            terminal = {"sessionId": session, "terminalId": answer["result"]["terminalId"]}
            self.request("terminal/wait_for_exit", terminal)
            self.request("terminal/release", terminal)
        elif "error" in answer:
            evidence.refuse(str(answer["error"]))
        evidence.keep()


def _permits(answer: Frame) -> bool:
    outcome = (answer.get("result") or {}).get("outcome") or {}
    return outcome.get("optionId") in ("yes", "always")


class Child(Puppet):
    """Has a subagent do it, in a session of its own; another one when its session was loaded."""

    def __init__(self) -> None:
        super().__init__()
        self._loads: Counter[str] = Counter()

    def serve(self, method: str, message: Frame, params: Frame) -> None:
        if method == "session/load":
            self._loads[params["sessionId"]] += 1
        super().serve(method, message, params)

    def play(self, request_id: Any, session: str, text: str) -> None:
        child, running = f"child-{self._loads[session]} of {session}", {"state": "running"}
        self.update(session, sessionUpdate="subagent_update", sessionId=child, title="helper", state=running)
        super().play(request_id, child, text)

    def end_turn(self, request_id: Any, session: str) -> None:
        parent = session.partition(" of ")[2]
        idle = {"state": "idle", "stopReason": "end_turn"}
        self.update(parent, sessionUpdate="subagent_update", sessionId=session, state=idle)
        super().end_turn(request_id, parent)


class V2(Puppet):
    edge = "v2"

    def play(self, request_id: Any, session: str, text: str) -> None:
        self.send(id=request_id, result={})
        self.update(session, sessionUpdate="state_update", state="running")
        super().play(request_id, session, text)

    def end_turn(self, request_id: Any, session: str) -> None:
        reason = self.stop_reason(session)
        self.update(session, sessionUpdate="state_update", state="idle", stopReason=reason)

    def announce(self, session: str, call: Frame) -> None:
        self.update(session, sessionUpdate="tool_call_update", **_v2_call(call))

    def ask(self, session: str, call: Frame, *, is_bare: bool) -> bool:
        asked = {"toolCallId": call["toolCallId"]} if is_bare else _v2_call(call)
        subject = {"type": "tool_call", "toolCall": asked}
        params = {"sessionId": session, "title": "Go on?", "subject": subject, "options": OPTIONS}
        return _permits(self.request("session/request_permission", params))


def _v2_call(call: Frame) -> Frame:
    if call["kind"] != "edit":
        return call
    (diff,) = call["content"]
    path, lines = diff["path"], diff["newText"].splitlines()
    head = f"diff --git a{path} b{path}\nnew file mode 100644\n--- /dev/null\n+++ b{path}\n"
    patch = f"{head}@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    changes = [{"path": path, "operation": "add", "fileType": "text"}]
    content = {"type": "diff", "changes": changes, "patch": {"format": "git_patch", "text": patch}}
    return {**call, "content": [content]}


class Haven(Puppet):
    edge = "haven"

    def announce(self, session: str, call: Frame) -> None:
        self.update(session, sessionUpdate="tool_call", **_haven_call(call))

    def ask(self, session: str, call: Frame, *, is_bare: bool) -> bool:
        asked = {"id": call["toolCallId"]} if is_bare else _haven_call(call)
        params = {"sessionId": session, "toolCall": asked, "options": OPTIONS}
        return _permits(self.request("session/request_permission", params))


def _haven_call(call: Frame) -> Frame:
    rest = {name: value for name, value in call.items() if name not in ("toolCallId", "title")}
    kind = "command" if call["kind"] == "execute" else "file"
    return {**rest, "id": call["toolCallId"], "name": call["title"], "kind": kind}


class Koog(Puppet):
    edge = "koog"

    def announce(self, session: str, call: Frame) -> None:
        """Its guide's agents leave out what they think goes without saying."""
        said = {name: value for name, value in call.items() if name not in ("title", "status")}
        self.update(session, sessionUpdate="tool_call", **said)


class Acpex(Puppet):
    edge = "acpex"

    def announce(self, session: str, call: Frame) -> None:
        if call["kind"] == "edit":  # the overview has no diffs; this is what the SDK's code says
            self.update(session, **{**call, "type": "tool_call", "sessionUpdate": f"u-{call['toolCallId']}"})
            return
        function = {"name": "work", "arguments": json.dumps(call["rawInput"])}
        content = {"toolCallId": call["toolCallId"], "type": "function", "function": function}
        self.update(session, kind="tool_call", content=content)

    def end_turn(self, request_id: Any, session: str) -> None:
        self.send(id=request_id, result={"stopReason": "done"})


class Crow(Puppet):
    edge = "crow"

    def __init__(self) -> None:
        super().__init__()
        self._questions: dict[str, str] = {}

    def serve(self, method: str, message: Frame, params: Frame) -> None:
        if method == "permission_response":
            self.send(id=message["id"], result={})
            self.settle(self._questions[params["tool_call_id"]], params)
        elif method == "cancel":
            self.cancelled.add(params["session_id"])
            self.send(id=message["id"], result={})
        else:
            super().serve(method, message, params)

    def announce(self, session: str, call: Frame) -> None:
        start = {"tool_call_id": call["toolCallId"], "title": "terminal", "kind": "execute"}
        self.update(
            session, **{"@type": "tool_call_start"}, **start, status="pending", raw_input=call["rawInput"]
        )

    def ask(self, session: str, call: Frame, *, is_bare: bool) -> bool:
        asked = {"@type": "permission_request", "tool_call_id": call["toolCallId"], "title": "terminal"}
        if not is_bare:
            asked["arguments"] = json.dumps(call["rawInput"])

        def put(number: str) -> None:
            self._questions[call["toolCallId"]] = number
            self.update(session, **asked, permission_options=CROW_OPTIONS)

        return self.answer_to(put).get("option_id") in ("approve", "always")

    def end_turn(self, request_id: Any, session: str) -> None:
        self.send(id=request_id, result={"stop_reason": self.stop_reason(session)})


class Threads(Puppet):
    edge = "threads"

    def send(self, **frame: Any) -> None:
        with self._lock:
            sys.stdout.write(json.dumps(frame) + "\n")
            sys.stdout.flush()

    def serve(self, method: str, message: Frame, params: Frame) -> None:
        match method:
            case "initialize":
                self.send(id=message["id"], error={"code": -32601, "message": "Method not found"})
            case "createThread":
                self.send(id=message["id"], result={"threadId": self.new_session()})
            case "sendMessage":
                self.begin_turn(message, params)
            case "getThreads" | "getThreadEntries":
                self.send(id=message["id"], result={"threads": [], "entries": []})
            case _ if "id" in message:
                self.send(id=message["id"], result={})

    def do(self, session: str, act: Frame, evidence: Evidence) -> None:
        answer = self.request("readTextFile", {"threadId": session, "path": act["read"]})
        if "result" in answer:
            evidence.keep_text(answer["result"]["content"])

    def end_turn(self, request_id: Any, session: str) -> None:
        self.send(id=request_id, result=None)


PUPPETS: dict[str, type[Puppet]] = {
    "v1": Puppet,
    "v2": V2,
    "crow": Crow,
    "threads": Threads,
    "haven": Haven,
    "acpex": Acpex,
    "koog": Koog,
    "child": Child,
}

if __name__ == "__main__":
    PUPPETS[sys.argv[1]]().run()
