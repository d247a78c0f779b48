"""The interface of a wire format of models, and the code that all formats share.

A `ModelFormat` speaks for one request. It gives events and bodies as values and knows no socket: `player`
decides when they are sent, cut or spoiled. Time is given to it, so that the same script gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from dragoman.testing.models.turns import CallStep, FailStep, TokenUsage
from dragoman.wire.envelope import Json


class ModelEvent(NamedTuple):
    """One event of a stream. Text is sent as it is, anything else as JSON."""

    name: str | None
    data: Json


@dataclass(frozen=True)
class ModelToolCall:
    """A call with all fields that any format needs."""

    id: str
    name: str
    arguments: str


@dataclass
class ModelOutput:
    """A whole answer, collected from its steps in order."""

    parts: list[tuple[str, str | ModelToolCall]] = field(default_factory=list)
    """`text` and `thought` with their text, `call` with the call."""
    stop: str = "stop"
    usage: TokenUsage = field(default_factory=lambda: TokenUsage(0, 0))

    def add(self, kind: str, piece: str) -> None:
        if self.parts and self.parts[-1][0] == kind:
            piece = f"{self.parts[-1][1]}{piece}"
            self.parts.pop()
        self.parts.append((kind, piece))

    def text_of(self, kind: str) -> str:
        return "".join(str(part) for name, part in self.parts if name == kind)

    @property
    def calls(self) -> list[ModelToolCall]:
        return [part for _, part in self.parts if isinstance(part, ModelToolCall)]

    @property
    def size(self) -> int:
        return sum(len(part.arguments if isinstance(part, ModelToolCall) else part) for _, part in self.parts)


class ModelFormat(Protocol):
    """One answer in one wire format."""

    def begin(self, usage: TokenUsage) -> Iterable[ModelEvent]: ...

    def text(self, piece: str) -> Iterable[ModelEvent]: ...

    def thought(self, piece: str) -> Iterable[ModelEvent]: ...

    def call(self, tool_call: ModelToolCall, pieces: Sequence[str]) -> Iterable[ModelEvent]: ...

    def end(self, output: ModelOutput) -> Iterable[ModelEvent]: ...

    def whole(self, output: ModelOutput) -> Json:
        """Return the whole answer, for a request without a stream."""
        ...

    def error(self, fail: FailStep) -> Json:
        """Return the body of an error."""
        ...

    def broken(self, fail: FailStep) -> Iterable[ModelEvent]:
        """Return the same error in a stream that has begun."""
        ...

    def headers(self, fail: FailStep, *, now: float) -> Mapping[str, str]:
        """Return the headers of an error, besides those of the script."""
        ...


def encode_event(event: ModelEvent) -> bytes:
    data = event.data if isinstance(event.data, str) else json.dumps(event.data, ensure_ascii=False)
    head = f"event: {event.name}\n" if event.name else ""
    return f"{head}data: {data}\n\n".encode()


def arguments_text(call: CallStep) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def cut_into(text: str, count: int) -> list[str]:
    """Cut the text into this many pieces of about the same length; into fewer if it is shorter than that."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def retry_headers(fail: FailStep) -> dict[str, str]:
    if fail.retry_after is None:
        return {}
    # Whole seconds are what the header's definition knows; vendors send fractions too.
    return {"retry-after": f"{fail.retry_after:g}"}
