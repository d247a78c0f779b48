"""Conversations written down line by line, in a form that can be changed in one place.

    talk = Script("hello")
    talk.ask("initialize", "initialize", {"protocolVersion": 1})
    talk.reply("initialize", {"protocolVersion": 1})

Every line has a label; the answer to the line `edit` is `edit, answer`. A stretch is a mark that follows its
lines when others are put between. Nothing here knows what is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from dragoman_check.recording import Direction, Frame, Recording, Stretch

STEP = 0.05
"""Seconds from one line to the next."""


class Line(Struct):
    """One line on its way."""

    label: str
    way: Direction
    said: Any
    """The message, or bytes that are sent as they are."""
    marks: tuple[str, ...] = ()
    wait: float = STEP

    @property
    def raw(self) -> bytes:
        return self.said if isinstance(self.said, bytes) else msgspec.json.encode(self.said)


class Script:
    """A conversation while it is written, and while it is changed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[Line] = []
        self.facts: dict[str, Any] = {}
        self.stderr = b""
        self._marks: tuple[str, ...] = ()
        self._next: dict[Direction, int] = {"to_agent": 1, "to_client": 1}

    # The client's words.

    def ask(self, label: str, method: str, params: Any = UNSET, **members: Any) -> None:
        """A request of the client."""
        self._request(label, "to_agent", method, params, members)

    def tell(self, label: str, method: str, params: Any = UNSET) -> None:
        """A notification of the client."""
        self.put(label, "to_agent", message(method, params))

    def settle(self, label: str, result: Any = UNSET, **members: Any) -> None:
        """The client's answer to a request of the agent."""
        self._answer(label, "to_agent", result, members)

    # The agent's words.

    def want(self, label: str, method: str, params: Any = UNSET, **members: Any) -> None:
        """A request of the agent."""
        self._request(label, "to_client", method, params, members)

    def note(self, label: str, method: str, params: Any = UNSET) -> None:
        """A notification of the agent."""
        self.put(label, "to_client", message(method, params))

    def reply(self, label: str, result: Any = UNSET, **members: Any) -> None:
        """The agent's answer to a request of the client."""
        self._answer(label, "to_client", result, members)

    def update(self, label: str, session: str, kind: str, /, **members: Any) -> None:
        self.note(
            label, "session/update", {"sessionId": session, "update": {"sessionUpdate": kind, **members}}
        )

    # Both.

    @contextmanager
    def stretch(self, name: str) -> Iterator[None]:
        self._marks = (*self._marks, name)
        try:
            yield
        finally:
            self._marks = self._marks[:-1]

    def put(self, label: str, way: Direction, said: Any, *, wait: float = STEP) -> None:
        if any(line.label == label for line in self.lines):
            raise ValueError(f"two lines are called {label}")
        self.lines.append(Line(label, way, said, self._marks, wait))

    def _request(self, label: str, way: Direction, method: str, params: Any, members: dict[str, Any]) -> None:
        number = self._next[way]
        self._next[way] += 1
        self.put(label, way, message(method, params, **{"id": number, **members}))

    def _answer(self, label: str, way: Direction, result: Any, members: dict[str, Any]) -> None:
        halves = members if result is UNSET else {"result": result, **members}
        self.put(f"{label}, answer", way, {"jsonrpc": "2.0", "id": self[label].said["id"], **halves})

    # Finding and recording.

    def __getitem__(self, label: str) -> Line:
        return self.lines[self.where(label)]

    def where(self, label: str) -> int:
        """The position of a line."""
        for position, line in enumerate(self.lines):
            if line.label == label:
                return position
        raise LookupError(f"{self.name} has no line {label}")

    def recording(self) -> Recording:
        frames, at = [], 0.0
        for number, line in enumerate(self.lines, 1):
            at += line.wait
            frames.append(Frame(number, line.way, at, line.raw))
        return Recording(frames=frames, marks=self._stretches(), facts=self.facts, stderr=self.stderr)

    def _stretches(self) -> list[Stretch]:
        found: dict[str, list[int]] = {}
        for position, line in enumerate(self.lines):
            for name in line.marks:
                found.setdefault(name, []).append(position)
        return [Stretch(name, places[0], places[-1] + 1) for name, places in found.items()]


def message(method: str, params: Any = UNSET, **members: Any) -> dict[str, Any]:
    named = {"jsonrpc": "2.0", **members, "method": method}
    return named if params is UNSET else {**named, "params": params}


def error(code: int, text: str, **data: Any) -> dict[str, Any]:
    return {"code": code, "message": text, **({"data": data} if data else {})}
