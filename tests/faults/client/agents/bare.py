"""An agent of nothing but bytes: no SDK, so that it can misbehave exactly, and write down what it saw.

A program beside this file registers what it does instead of the usual at a point of the conversation:

    @at("session/prompt", "CFR-02")
    def log_lines(agent: Agent, request: Message) -> None: ...

and is started as `python -m tests.faults.client.agents.NAME FAULT REPORT`. What is not registered is done
as a good agent would do it. Facts go to the file REPORT, one JSON object a line. Such programs are started
more than a hundred times in a run of the tests: they import little.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

SESSION = "s-1"
END = "(end of input)"
"""The point at which there is nothing more to read."""

START = "(start)"


class Agent:
    """One end of the conversation; reads with plain system calls, and believes nothing."""

    def __init__(self, report: str) -> None:
        self.report = report
        self.inbox: deque[Message] = deque()
        self.heard: list[Message] = []
        self.turn: Message = {}
        """The prompt that is being worked on."""
        self.ids = 1000
        self._rest = b""

    # What it says.

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def send(self, *messages: Any) -> None:
        self.raw(b"".join(map(line, messages)))

    def answer(self, request: Message, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: Message, error: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def say(self, *texts: str, session: str = SESSION) -> None:
        self.send(*(chunk(text, session) for text in texts))

    def end_turn(self, reason: str = "end_turn") -> None:
        self.answer(self.turn, {"stopReason": reason})

    # What it hears.

    def read(self) -> Message | None:
        """The next message, or None at the end of the input."""
        while not self.inbox:
            block = os.read(0, 1024 * 1024)
            if not block:
                return None
            *lines, self._rest = (self._rest + block).split(b"\n")
            self.inbox.extend(json.loads(text) for text in lines if text.strip())
        self.heard.append(self.inbox[0])
        return self.inbox.popleft()

    def call(self, method: str, params: Any, *, id_: Any = None) -> Message:
        """Ask the client, and wait for the answer."""
        if id_ is None:
            self.ids += 1
            id_ = self.ids
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return self.answers(1)[0]

    def answers(self, count: int) -> list[Message]:
        """That many answers of the client, in the order in which they come."""
        found: list[Message] = []
        while len(found) < count:
            message = self.read()
            if message is None:
                raise SystemExit(0)
            if "method" not in message:
                found.append(message)
        return found

    # What it saw.

    def note(self, **facts: Any) -> None:
        with open(self.report, "a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")

    def note_memory(self, name: str) -> None:
        """The memory of the client, in MiB: it is our parent."""
        self.note(**{name: memory(os.getppid())})


Step: TypeAlias = Callable[[Agent, Message], None]

STEPS: dict[tuple[str, str], Step] = {}


def at(point: str, *faults: str) -> Callable[[Step], Step]:
    """What is done at a point of the conversation, in these faults."""

    def register(step: Step) -> Step:
        for fault in faults:
            assert (point, fault) not in STEPS, f"{fault} stands twice"
            STEPS[point, fault] = step
        return step

    return register


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def chunk(text: str, session: str = SESSION) -> Message:
    return update(
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}, session
    )


def update(content: Any, session: Any = SESSION) -> Message:
    return notification("session/update", {"sessionId": session, "update": content})


def notification(method: str, params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def memory(pid: int) -> float:
    with open(f"/proc/{pid}/status") as lines:
        for text in lines:
            if text.startswith("VmRSS:"):
                return int(text.split()[1]) / 1024
    return 0.0


def usual(agent: Agent, request: Message) -> None:
    """What a good agent does."""
    match request.get("method"):
        case "initialize":
            agent.answer(request, {"protocolVersion": 1, "agentCapabilities": {}})
        case "session/new":
            agent.answer(request, {"sessionId": SESSION})
        case "session/prompt":
            agent.say("all is well")
            agent.end_turn()
        case "session/cancel":
            agent.end_turn("cancelled")
        case _:
            pass


def nothing(agent: Agent, _: Message) -> None:
    pass


def main() -> None:
    fault, report = sys.argv[1:]
    agent = Agent(report)
    agent.note(pid=os.getpid())
    STEPS.get((START, fault), nothing)(agent, {})
    while (message := agent.read()) is not None:
        method = message.get("method", "")
        if method == "session/prompt":
            agent.turn = message
        STEPS.get((method, fault), usual)(agent, message)
    STEPS.get((END, fault), nothing)(agent, {})
