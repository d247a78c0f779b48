"""The known ends of streams: from acknowledgements, or from the leader.

It also keeps marks of where entries lie, so that whoever reads from the middle need not begin at the start.
What is kept is bounded; what was forgotten is read again.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.layout import Layout
from dragoman_hub.nats.records import Head, read_head

KEPT = 50_000
"""The most streams whose end is remembered: some ten megabytes."""

MARK_ENTRIES = 2_000
"""The entries between two marks: about as many as a reader can skip in a moment."""

MARKS = 512
"""The most marks of one stream; above it every second one is dropped."""


ENDLESS = 1 << 60


class StreamTail(Struct, frozen=True, gc=False):
    """The end of a stream: its last entry, and the message with that entry. All zero for an empty stream."""

    last: int = 0
    at: int = 0
    life: int = 0
    time: float = 0.0


class MessageMarks:
    """The positions of entries in one stream: the first entry of a message, and the message."""

    __slots__ = ("firsts", "life", "places")

    def __init__(self, life: int) -> None:
        self.life = life
        self.firsts: list[int] = []
        self.places: list[int] = []

    def learn(self, first: int, at: int) -> None:
        spot = bisect_right(self.firsts, first)
        near = self.firsts[max(0, spot - 1) : spot + 1]
        if any(abs(mark - first) < MARK_ENTRIES for mark in near):
            return
        self.firsts.insert(spot, first)
        self.places.insert(spot, at)
        if len(self.firsts) > MARKS:
            del self.firsts[1::2], self.places[1::2]

    def around(self, sequence: int, *, end: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the nearest mark at or before an entry, and the nearest after it: a first entry and its
        message. Without one, the start and the end.
        """
        spot = bisect_right(self.firsts, sequence)
        below = (self.firsts[spot - 1], self.places[spot - 1]) if spot else (1, 1)
        above = (self.firsts[spot], self.places[spot]) if spot < len(self.firsts) else end
        return below, above


class Tails:
    """The ends of streams, by token."""

    def __init__(self, jetstream: JetStream, layout: Layout) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._tails: dict[str, StreamTail] = {}
        self._marks: dict[str, MessageMarks] = {}

    def get(self, token: str) -> StreamTail | None:
        return self._tails.get(token)

    def learn(self, token: str, tail: StreamTail) -> None:
        self._tails.pop(token, None)
        self._tails[token] = tail  # the latest is at the end
        if len(self._tails) > KEPT:
            self.forget(next(iter(self._tails)))

    def forget(self, token: str) -> None:
        self._tails.pop(token, None)

    def forget_all(self, token: str) -> None:
        self._tails.pop(token, None)
        self._marks.pop(token, None)

    def marks(self, token: str, life: int) -> MessageMarks:
        marks = self._marks.get(token)
        if marks is None or marks.life != life:
            marks = self._marks[token] = MessageMarks(life)
            if len(self._marks) > KEPT // 10:
                self._marks.pop(next(iter(self._marks)))
        return marks

    def learn_mark(self, token: str, head: Head, at: int) -> None:
        """Note a record. One near the start needs no mark, and most streams are short."""
        if head.first > MARK_ENTRIES:
            self.marks(token, head.life).learn(head.first, at)

    async def read(self, token: str, *, patience: float | None = None) -> StreamTail:
        """Return the true end, from the leader."""
        message = await self._jetstream.last(*self._stream_and_subject(token), patience=patience)
        if message is None:
            return StreamTail()
        head = read_head(message.data)
        return StreamTail(head.last, message.seq, head.life, head.time)

    async def read_first(self, token: str) -> StreamTail:
        """Return an end after all ends, as of the first record."""
        message = await self._jetstream.next_message(*self._stream_and_subject(token), 1)
        if message is None:
            return StreamTail()
        head = read_head(message.data)
        return StreamTail(ENDLESS, message.seq, head.life, head.time)

    def _stream_and_subject(self, token: str) -> tuple[str, str]:
        return self._layout.stream_of(token), self._layout.subject_of(token)
