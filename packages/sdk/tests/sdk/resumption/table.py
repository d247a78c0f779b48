"""An editor, the resumption and the model hub at one table: every message moves when the test says so."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from dragoman.sdk.resumption.resumption import Resumption
from tests.sdk.resumption.model import Hub, Line, Message, frame

SESSION: Message = {"cwd": "/tmp", "mcpServers": []}


class Table:
    """`heard` is everything that the editor was sent; `up` and `down` are what is on the wire."""

    def __init__(self, hub: Hub, core: Resumption | None = None) -> None:
        self.hub = hub
        self.core = core or Resumption(client="client-0123")
        self.line: Line | None = None
        self.up: deque[bytes] = deque()
        self.down: deque[bytes] = deque()
        self.heard: list[bytes] = []
        self.questions: deque[Message] = deque()
        self.sessions: list[str] = []
        self.methods: dict[int, Message] = {}
        self._next = 0

    # The editor.

    def ask(self, method: str, **params: Any) -> int:
        self._next += 1
        self.methods[self._next] = {"method": method, **params}
        self.say({"id": self._next, "method": method, "params": params})
        return self._next

    def prompt(self, session: str, text: str) -> int:
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def say(self, message: Message) -> None:
        self.core.say(frame(message))
        self._carry()

    def answer(self) -> None:
        question = self.questions.popleft()
        self.say({"id": question["id"], "result": {"said": f"yes to {question['params']['name']}"}})

    def answers_to(self, number: int) -> list[Message]:
        return [
            message for message in self.messages() if message.get("id") == number and "method" not in message
        ]

    def messages(self) -> list[Message]:
        return [json.loads(heard) for heard in self.heard]

    # The wire.

    def open(self) -> None:
        assert self.line is None
        self.line = Line(self.hub)
        self.core.on_open()
        self._carry()

    def cut(self) -> None:
        """What is on the wire is lost."""
        assert self.line is not None
        self.line.cut()
        self.line = None
        self.up.clear()
        self.down.clear()
        self.core.on_connection_lost()
        self._carry()

    def carry_up(self) -> None:
        assert self.line is not None
        self.line.say(json.loads(self.up.popleft()))
        self._collect()

    def carry_down(self) -> None:
        self.core.hear(self.down.popleft())
        self._carry()
        assert not self.core.fault, self.core.fault

    def step(self, session: str) -> None:
        self.hub.step(self.hub.sessions[session])
        self._collect()

    def steppable(self) -> list[str]:
        return [session.id for session in self.hub.sessions.values() if self.hub.can_step(session)]

    def settle(self, *, answering: bool = True) -> None:
        """Until nothing is left to do."""
        if self.line is None:
            self.open()
        while True:
            if self.up:
                self.carry_up()
            elif self.down:
                self.carry_down()
            elif self.questions and answering:
                self.answer()
            elif steppable := self.steppable():
                self.step(steppable[0])
            else:
                return

    def _collect(self) -> None:
        if self.line is not None:
            self.down.extend(map(frame, self.line.out))
            self.line.out.clear()

    def _carry(self) -> None:
        """From the core to the wire and to the editor."""
        if self.line is not None:
            self.up.extend(self.core.to_hub)
        self.core.to_hub.clear()
        for heard in self.core.to_editor:
            self.heard.append(heard)
            self._note(json.loads(heard))
        self.core.to_editor.clear()

    def _note(self, message: Message) -> None:
        if "method" in message and "id" in message:
            self.questions.append(message)
        elif message.get("method") == "$/cancel_request":
            withdrawn = message["params"]["requestId"]
            self.questions = deque(one for one in self.questions if one["id"] != withdrawn)
        elif "result" in message and "sessionId" in message["result"]:
            self.sessions.append(message["result"]["sessionId"])
