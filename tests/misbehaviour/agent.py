"""An agent that behaves until a certain point of the conversation, and there misbehaves in a certain way.

`python agent.py POINT WAY [NOTES]`. It needs nothing but the standard library, so that it can do anything and
starts fast. The points are in the order of the conversation; the file NOTES tells which were reached.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

POINTS = (
    *("start", "initialize asked", "initialize half", "initialize answered"),
    *("new asked", "new half", "new answered", "mode asked", "mode answered"),
    *("prompt asked", "update half", "between updates", "after updates", "prompt half", "prompt answered"),
    *("permission half", "permission asked", "permission answered"),
    *("read asked", "read answered", "write asked", "write answered"),
    *("terminal asked", "terminal running", "terminal waited for", "terminal killed", "terminal released"),
    *("waiting", "cancel asked", "cancel answered"),
    *("load asked", "load replaying", "load answered"),
    *("end of input", "SIGTERM"),
)
WAYS = ("exit", "kill", "crash", "hang", "stop", "flood", "lie", "close", "deaf")

SESSION = "s-1"


class Agent:
    """One conversation."""

    def __init__(self, point: str, way: str, notes: str = "") -> None:
        self.point, self.way, self.notes = point, way, notes
        self.pending: Any = None
        """The id of the request that waits for an answer."""
        self.rest = b""
        self.lines: list[bytes] = []

    # Speaking.

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def send(self, message: Any, *, half: str = "") -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        if half == self.point:
            self.raw(data[: len(data) // 2])
            self.reach(half)
        self.raw(data)

    def answer(self, result: Any, name: str) -> None:
        self.send({"id": self.pending, "result": result}, half=f"{name} half")
        self.pending = None
        self.reach(f"{name} answered")

    def say(self, text: str, *, half: str = "") -> None:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        self.send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}}, half=half)

    def call(self, method: str, params: Any, name: str) -> Any:
        params = {"sessionId": SESSION, **params}
        self.send({"id": f"a-{name}", "method": method, "params": params}, half=f"{name} half")
        self.reach(f"{name} asked")
        while True:
            message = self.read()
            if message is None:
                sys.exit(0)
            if "method" not in message:
                self.reach(f"{name} answered")
                return message.get("result") or {}

    # Hearing.

    def read(self) -> Any:
        while not self.lines:
            block = os.read(0, 65536)
            if not block:
                return None
            *lines, self.rest = (self.rest + block).split(b"\n")
            self.lines += lines
        return json.loads(self.lines.pop(0))

    # Misbehaving.

    def reach(self, point: str) -> None:
        if self.notes:
            with open(self.notes, "a") as file:
                file.write(f"{point}\n")
        if point == self.point:
            getattr(self, f"do_{self.way}")()

    def do_exit(self) -> None:
        os._exit(3)

    def do_kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def do_crash(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_hang(self) -> None:
        while True:
            time.sleep(60)

    def do_stop(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def do_flood(self) -> None:
        """A megabyte of everything, and then nothing."""
        self.raw(b"\n")
        for n in range(300):
            self.raw(b"garbage " * 200 + b"\n")
            self.say("x" * 1500)
            self.send({"id": f"f-{n}", "method": "_flood", "params": {}})
            self.send({"id": 10_000 + n, "result": None})
        self.do_hang()

    def do_lie(self) -> None:
        """Answers in the wrong shape and for others, and goes on as if nothing had been."""
        self.raw(b"\n")
        for id_ in (self.pending, True, None, "a", 1, 2, 3, 4, 5, 6):
            self.send({"id": id_, "result": {"lie": [1, 2]}})
        self.send({"method": "session/update", "params": {"sessionId": SESSION, "update": {"a": 1}}})
        self.send({"method": "session/update", "params": {"sessionId": "other", "update": None}})
        self.send({"id": "x", "method": "session/request_permission", "params": {"sessionId": "other"}})

    def do_close(self) -> None:
        """Hangs up, and lives on."""
        os.close(1)
        self.do_hang()

    def do_deaf(self) -> None:
        """Closes its input, and lives on."""
        os.close(0)
        self.do_hang()

    # Behaving.

    def live(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: self.terminated())
        self.reach("start")
        while (message := self.read()) is not None:
            self.handle(message)
        self.reach("end of input")
        if self.point == "SIGTERM":
            self.do_hang()

    def terminated(self) -> None:
        self.reach("SIGTERM")
        os._exit(0)

    def handle(self, message: Any) -> None:
        self.pending = message.get("id", self.pending)
        match message.get("method"):
            case "initialize":
                self.reach("initialize asked")
                self.answer({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}, "initialize")
            case "session/new":
                self.reach("new asked")
                modes = {"currentModeId": "a", "availableModes": [{"id": m, "name": m} for m in "ab"]}
                self.answer({"sessionId": SESSION, "modes": modes}, "new")
            case "session/set_mode":
                self.reach("mode asked")
                self.answer({}, "mode")
            case "session/load":
                self.reach("load asked")
                self.say("once ")
                self.reach("load replaying")
                self.answer({}, "load")
            case "session/prompt":
                self.prompted(message["params"]["prompt"][0]["text"])
            case "session/cancel" if self.pending is not None:
                self.reach("cancel asked")
                self.answer({"stopReason": "cancelled"}, "cancel")

    def prompted(self, text: str) -> None:
        if text == "wait":  # for a cancel
            self.say("waiting")
            self.reach("waiting")
            return
        self.reach("prompt asked")
        asked = self.pending
        self.say("one ", half="update half")
        self.reach("between updates")
        self.use_client()
        self.pending = asked
        self.say("two")
        self.reach("after updates")
        self.answer({"stopReason": "end_turn"}, "prompt")

    def use_client(self) -> None:
        option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
        tool = {"toolCallId": "t", "title": "T"}
        self.call("session/request_permission", {"toolCall": tool, "options": [option]}, "permission")
        path = os.path.join(os.getcwd(), "file.txt")
        self.call("fs/read_text_file", {"path": path}, "read")
        self.call("fs/write_text_file", {"path": path, "content": "x"}, "write")
        # While somebody waits for a command, its client owes an answer, and no agent is to blame for silence.
        seconds = "0.5" if self.point == "terminal waited for" else "60"
        made = self.call("terminal/create", {"command": "sleep", "args": [seconds]}, "terminal")
        terminal = {"terminalId": made.get("terminalId", "none")}
        self.reach("terminal running")
        if self.point == "terminal waited for":
            params = {"sessionId": SESSION, **terminal}
            self.send({"id": "a-wait", "method": "terminal/wait_for_exit", "params": params})
            self.reach("terminal waited for")
        self.call("terminal/kill", terminal, "kill")
        self.reach("terminal killed")
        self.call("terminal/release", terminal, "release")
        self.reach("terminal released")


if __name__ == "__main__":
    Agent(*sys.argv[1:]).live()
