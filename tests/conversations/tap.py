"""A transport that remembers every frame that was written to it."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.transport.memory import MemoryTransport
from dragoman.transport.passing_transport import PassingTransport

decode_lines = msgspec.json.Decoder().decode_lines


class Tap(PassingTransport):
    """One end of a memory pair, and what it has said."""

    def __init__(self, inner: MemoryTransport) -> None:
        super().__init__(inner)
        self.said: list[dict[str, Any]] = []

    def write(self, block: bytes | bytearray | memoryview) -> None:
        super().write(block)
        self.said += decode_lines(block)

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
