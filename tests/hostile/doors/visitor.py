"""A client of the hub that is written by hand: raw frames over a WebSocket, of which it keeps every one.

`Visitor.person` is who sits in front of it: `yes` permits whatever is asked, `no` refuses, `careful` permits
what is called "Good …", and `away` gives no answer at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Literal

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from dragoman.testing.pace import patience

Person = Literal["yes", "no", "careful", "away"]

WAIT = 4.0


class Visitor:
    def __init__(self, place: str, token: str, *, person: Person = "no", query: str = "") -> None:
        headers = {"authorization": f"Bearer {token}"}
        self._door = ExitStack()
        self.socket = self._door.enter_context(
            connect(f"ws://{place}/acp{query}", additional_headers=headers, max_size=None, close_timeout=1)
        )
        self.token = token
        self.person = person
        self.heard: list[dict[str, Any]] = []
        self.said: list[str] = []
        self.questions: list[dict[str, Any]] = []
        """The params of each request for permission that this client was shown."""
        self._last_id = 0

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def introduce(
        self, *, agent: str = "", events: bool = False, lazy: bool = False, **params: Any
    ) -> dict[str, Any]:
        meta: dict[str, Any] = {"events": events, "cursors": events, "lazy": lazy}
        if agent:
            meta["agent"] = agent
        given = {"protocolVersion": 1, "clientCapabilities": {}, "_meta": {"dragoman": meta}, **params}
        return self.call("initialize", given)

    def send(self, frame: object) -> None:
        self.send_text(json.dumps(frame))

    def send_text(self, text: str) -> None:
        self.said.append(text)
        self.socket.send(text)

    def call(self, method: str, params: object = None) -> dict[str, Any]:
        """The whole answer, error or result."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self.answer_to(self._last_id)

    def answer_to(self, number: int | str) -> dict[str, Any]:
        while True:
            message = self.hear()
            if "method" not in message and message.get("id") == number:
                return message

    def hear_answers(self, ids: Iterable[str]) -> None:
        """Until each of these requests has its answer."""
        for number in ids:
            while not any("method" not in one and one.get("id") == number for one in self.heard):
                self.hear()

    def hear(self) -> dict[str, Any]:
        """The next message; a question is answered as the person would."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=patience(WAIT)))
        self.heard.append(message)
        if message.get("method") == "session/request_permission" and "id" in message:
            self.questions.append(message["params"])
            if self.person != "away":
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.decide(message["params"])})
        elif message.get("method") == "elicitation/create":
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"action": "decline"}})
        return message

    def hear_until(self, method: str) -> dict[str, Any]:
        while True:
            if (message := self.hear()).get("method") == method:
                return message

    def decide(self, params: dict[str, Any]) -> dict[str, Any]:
        is_good = str(params["toolCall"].get("title")).startswith("Good")
        kind = (
            "allow_once" if self.person == "yes" or (self.person == "careful" and is_good) else "reject_once"
        )
        for option in params["options"]:
            if option["kind"] == kind:
                return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return {"outcome": {"outcome": "cancelled"}}

    def open(self, cwd: str, **meta: Any) -> str:
        params: dict[str, Any] = {"cwd": cwd, "mcpServers": []}
        if meta:
            params["_meta"] = {"dragoman": meta}
        answer = self.call("session/new", params)
        assert "result" in answer, answer
        session: str = answer["result"]["sessionId"]
        return session

    def prompt(self, session: str, steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """One that does not end is cancelled, so that its agent can go on with another."""
        text = json.dumps(list(steps))
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        try:
            return self.call("session/prompt", params)
        except TimeoutError:
            self.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
            raise

    def is_closed(self) -> bool:
        try:
            self.socket.recv(timeout=patience(WAIT))
        except ConnectionClosed:
            return True
        return False
