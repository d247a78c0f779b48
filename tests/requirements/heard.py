"""What was said on a connection, kept as data: every line of both ways in order, and names for parts of it.

A test asks for an answer or for a stretch by its name. Nothing here knows how it was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

import msgspec

Way = Literal["to_agent", "to_client"]


class Line(msgspec.Struct):
    """One line without its newline, byte by byte."""

    way: Way
    raw: bytes


class Scene(msgspec.Struct, dict=True):
    """One connection from its first line to its last."""

    lines: list[Line] = []
    spans: dict[str, tuple[int, int]] = {}
    """From a request to its answer, both included, as positions in `lines`."""
    facts: dict[str, Any] = {}
    """What was seen beside the wire: files, processes, what the model was asked."""

    @cached_property
    def frames(self) -> list[Any]:
        """Every line as JSON, None for what was sent on purpose as something else."""
        return [_parsed(line.raw) for line in self.lines]

    @cached_property
    def said(self) -> list[Any]:
        """All that the agent has said."""
        return [json.loads(line.raw) for line in self.lines if line.way == "to_client"]

    @property
    def answers(self) -> list[Any]:
        return [frame for frame in self.said if "method" not in frame]

    def answer(self, name: str) -> Any:
        """The frame that ended the named stretch."""
        return self.frames[self.spans[name][1]]

    def result(self, name: str) -> Any:
        frame = self.answer(name)
        assert "result" in frame, f"{name}: {frame}"
        return frame["result"]

    def code(self, name: str) -> int:
        """The code of the error that the named request was answered with."""
        frame = self.answer(name)
        assert "error" in frame, f"{name} was answered with {frame}"
        code: int = frame["error"]["code"]
        return code

    def during(self, name: str) -> list[Any]:
        """What the agent said between the named request and its answer, the answer left out."""
        first, last = self.spans[name]
        part = zip(self.lines[first:last], self.frames[first:last], strict=True)
        return [frame for line, frame in part if line.way == "to_client"]

    def behind(self, name: str) -> list[Any]:
        """What the agent said after the named answer."""
        last = self.spans[name][1] + 1
        part = zip(self.lines[last:], self.frames[last:], strict=True)
        return [frame for line, frame in part if line.way == "to_client"]

    def updates(self, name: str | None = None, kind: str | None = None) -> list[Any]:
        """The updates of a stretch, or of all."""
        return [found["update"] for found in self.notes(name) if kind in (None, kind_of(found))]

    def notes(self, name: str | None = None) -> list[Any]:
        frames = self.said if name is None else self.during(name)
        return [frame["params"] for frame in frames if frame.get("method") == "session/update"]

    def asked(self, method: str, name: str | None = None) -> list[Any]:
        """Requests of the agent."""
        frames = self.said if name is None else self.during(name)
        return [frame for frame in frames if frame.get("method") == method and "id" in frame]

    def text(self, name: str | None = None, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"].get("text", "") for update in self.updates(name, kind))


class Recording(msgspec.Struct):
    """All scenes of one agent."""

    agent: str
    scenes: dict[str, Scene]

    def __getitem__(self, name: str) -> Scene:
        return self.scenes[name]

    @property
    def all(self) -> Iterator[Scene]:
        yield from self.scenes.values()

    @property
    def said(self) -> list[Any]:
        return [frame for scene in self.all for frame in scene.said]

    @property
    def updates(self) -> list[Any]:
        return [update for scene in self.all for update in scene.updates()]

    def asked(self, method: str) -> list[Any]:
        return [frame for scene in self.all for frame in scene.asked(method)]


def kind_of(note: Any) -> str:
    kind: str = note["update"]["sessionUpdate"]
    return kind


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def values(tree: Any, *keys: str) -> Iterator[Any]:
    """Every value that stands under one of these keys, however deep; inside `_meta` they mean anything."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in keys:
                yield value
            if key != "_meta":
                yield from values(value, *keys)
    elif isinstance(tree, list):
        for item in tree:
            yield from values(item, *keys)
