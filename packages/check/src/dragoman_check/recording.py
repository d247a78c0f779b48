"""A recorded conversation for rules: every frame in order, and the events outside the protocol.

Scenes leave marks: a name for the stretch of frames during which something was tried. Facts are what was seen
beside the wire (an exit status, a file that was or was not there). Nothing here knows how it was recorded.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.envelope import Json, JsonObject

Direction: TypeAlias = Literal["to_agent", "to_client"]


class Frame(Struct, frozen=True, dict=True):
    """One line, without its newline, byte for byte."""

    number: int
    """Counted from 1, over both directions."""
    direction: Direction
    at: float
    """Seconds; only differences are meaningful."""
    raw: bytes

    @cached_property
    def json(self) -> Json:
        """The frame's content; `BROKEN` if it is not JSON."""
        try:
            return msgspec.json.decode(self.raw)
        except UNREADABLE_TEXT:
            return BROKEN

    @cached_property
    def message(self) -> JsonObject:
        """The frame as an object; empty if it is not one."""
        return self.json if type(self.json) is dict else {}

    @cached_property
    def method(self) -> str:
        method = self.message.get("method")
        return method if type(method) is str else ""

    @cached_property
    def params(self) -> JsonObject:
        params = self.message.get("params")
        return params if type(params) is dict else {}

    @property
    def is_request(self) -> bool:
        return "method" in self.message and "id" in self.message

    @property
    def is_notification(self) -> bool:
        return "method" in self.message and "id" not in self.message

    @property
    def is_answer(self) -> bool:
        return "method" not in self.message and ("result" in self.message or "error" in self.message)


class _Broken:
    def __repr__(self) -> str:
        return "BROKEN"


BROKEN = _Broken()


class Stretch(Struct, frozen=True):
    """The time of one attempt: positions in `Recording.frames`, without the last."""

    name: str
    first: int
    last: int


class Recording(Struct, dict=True, kw_only=True):
    """One connection from its first frame to its last."""

    frames: list[Frame] = []
    marks: list[Stretch] = []
    facts: JsonObject = {}
    stderr: bytes = b""

    def stretches(self, name: str) -> list[list[Frame]]:
        """Return the frames of every stretch with this name."""
        return [self.frames[mark.first : mark.last] for mark in self.marks if mark.name == name]
