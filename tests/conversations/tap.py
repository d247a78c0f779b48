"""A transport that remembers every frame that was written to it."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.transport.contract import Limits, Sink
from dragoman.transport.memory import MemoryTransport

decode_lines = msgspec.json.Decoder().decode_lines


class Tap:
    """One end of a memory pair, and what it has said."""

    def __init__(self, inner: MemoryTransport) -> None:
        self.inner = inner
        self.said: list[dict[str, Any]] = []

    @property
    def limits(self) -> Limits:
        return self.inner.limits

    @property
    def pending(self) -> int:
        return self.inner.pending

    def start(self, sink: Sink) -> None:
        self.inner.start(sink)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.inner.write(block)
        self.said += decode_lines(block)

    async def drain(self) -> None:
        await self.inner.drain()

    def pause(self) -> None:
        self.inner.pause()

    def resume(self) -> None:
        self.inner.resume()

    async def aclose(self) -> None:
        await self.inner.aclose()

    # What was said, sorted.

    def requests(self) -> list[Any]:
        return [frame["id"] for frame in self.said if "id" in frame and "method" in frame]

    def answers(self) -> list[Any]:
        return [frame["id"] for frame in self.said if "method" not in frame]


def check_answers(asking: Tap, answering: Tap, *, cut: bool) -> None:
    """Every request has exactly one answer; when the conversation was cut, at most one."""
    asked, answered = asking.requests(), answering.answers()
    assert len(set(asked)) == len(asked), f"an id was used twice: {asked}"
    assert len(set(answered)) == len(answered), f"a request was answered twice: {answered}"
    assert set(answered) <= set(asked), f"an answer to nothing: {set(answered) - set(asked)}"
    assert cut or set(asked) == set(answered), f"never answered: {set(asked) - set(answered)}"
