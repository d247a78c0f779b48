"""The event streams of one HTTP connection: messages that wait for their readers, and messages that a reader
may request again. Both are limited in bytes, for all streams of a connection together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.errors import LinkClosed
from dragoman.transport.waiters import Waiters

UNREAD = 2 * 1024 * 1024
"""The most bytes that may wait for the readers of one connection; then its agent waits. It is much more than
one stream needs, so that an unread stream does not stop the others at once.
"""

EVENT_BYTES = 128
"""The overhead of an event in bytes while it waits or is kept: most messages are as short as a word."""

KEPT = 1024 * 1024
"""The most bytes of delivered events to keep for readers that come back."""

PATIENCE = 60.0
"""The seconds without a byte read, at the limit, after which the connection is given up."""

AT_ONCE = 64 * 1024
"""The most bytes to give to the system at once; more would only wait there, and be lost with the reader."""


def cost(message: bytes) -> int:
    """Return the memory that a message needs as an event."""
    return len(message) + EVENT_BYTES


class Backlog:
    """The waiting and kept messages of all streams of one connection."""

    def __init__(self, *, unread: int = UNREAD, kept_limit: int = KEPT, patience: float = PATIENCE) -> None:
        self.waiting = 0  # bytes
        self.over = False
        self.unread = unread
        self._most_kept = kept_limit
        self._patience = patience
        self._delivered_events: deque[tuple[SseOutlet, int, bytes]] = deque()
        self._kept_bytes = 0
        self._room = Waiters()

    async def wait_for_room(self) -> None:
        """Wait for room; raises `LinkClosed` when there is no reader and never will be."""
        while self.waiting > self.unread and not self.over:
            try:
                async with asyncio.timeout(self._patience):
                    await self._room.wait()
            except TimeoutError:
                raise LinkClosed(f"nothing was read for {self._patience:g} s, and too much waits") from None

    def on_delivery(self, outlet: SseOutlet, events: list[tuple[int, bytes]]) -> None:
        """Note that events were delivered. They are kept for a while, because the connection may break."""
        size = sum([len(message) for _, message in events]) + EVENT_BYTES * len(events)
        self.waiting -= size
        self._kept_bytes += size
        self._delivered_events.extend([(outlet, number, message) for number, message in events])
        while self._kept_bytes > self._most_kept:
            self._kept_bytes -= cost(self._delivered_events.popleft()[2])
        self._room.wake()

    def take_back(self, outlet: SseOutlet, last: int) -> list[tuple[int, bytes]]:
        """Return events to the queue that were delivered to this outlet after event `last`, if they are still
        kept.
        """
        again = [
            (number, message)
            for of, number, message in self._delivered_events
            if of is outlet and number > last
        ]
        self._delivered_events = deque(
            entry for entry in self._delivered_events if entry[0] is not outlet or entry[1] <= last
        )
        self._kept_bytes -= (size := sum(cost(message) for _, message in again))
        self.waiting += size
        return again

    def has_kept(self, outlet: SseOutlet, last: int) -> bool:
        """Whether an event is kept that was delivered to this outlet after event `last`."""
        return any(of is outlet and number > last for of, number, _ in self._delivered_events)

    def forget(self, waiting: int) -> None:
        """Stop counting bytes that will never be read."""
        self.waiting -= waiting
        self._room.wake()

    def end(self) -> None:
        self.over = True
        self._room.wake()


class SseOutlet:
    """Messages of one stream, in order. `name` is a prefix for the number of each event, if several streams
    have readers at the same address.
    """

    def __init__(self, backlog: Backlog, *, name: str = "") -> None:
        self.is_read = False
        self.was_read = False  # at some time
        self._backlog = backlog
        self._name = name
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._on_the_way: list[tuple[int, bytes]] = []
        self._number = 0
        self._news = asyncio.Event()
        self._reader_waiters = Waiters()
        self._over = self._is_evicted = False

    @property
    def is_empty(self) -> bool:
        return not (self._waiting or self._on_the_way)

    async def put(self, message: bytes) -> None:
        """Append a message; returns when there is room for the next."""
        self._number += 1
        self._waiting.append((self._number, message))
        backlog = self._backlog
        backlog.waiting += len(message) + EVENT_BYTES
        self._news.set()
        if backlog.waiting > backlog.unread:
            await backlog.wait_for_room()

    def end(self) -> None:
        self._over = True
        self._news.set()

    def has_more(self, last: str) -> bool:
        """Whether a reader that saw event `last`, a number, will get another one."""
        number = int(last[:18]) if last.isascii() and last.isdigit() else 0
        return not (self._over and self.is_empty) or self._backlog.has_kept(self, number)

    def discard(self) -> None:
        """Drop the waiting messages, because they will never be read."""
        self._backlog.forget(sum(cost(message) for _, message in self._waiting))
        self._waiting.clear()

    def evict(self) -> None:
        """End the old reader, because its client reads again over another connection."""
        self._is_evicted = True
        self._news.set()

    async def wait_left(self) -> None:
        """Wait until no client reads the stream."""
        while self.is_read:
            await self._reader_waiters.wait()

    @contextmanager
    def reading(self, last: str) -> Iterator[None]:
        """Note a reader; `last` is the number of the last event it has seen, if any."""
        self.is_read = self.was_read = True
        self._is_evicted = False
        if last.isascii() and last.isdigit():
            self._waiting.extendleft(reversed(self._backlog.take_back(self, int(last[:18]))))
        try:
            yield
        finally:
            self.is_read = False
            self._reader_waiters.wake()
            self._waiting.extendleft(reversed(self._on_the_way))
            self._on_the_way = []

    async def take(self, disconnect: asyncio.Task[None], seconds: float) -> bytes | None:
        """Return waiting events: none if there were none for a while, None at the end."""
        if not (self._waiting or self._over or self._is_evicted):
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            try:
                await asyncio.wait((news, disconnect), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            finally:
                news.cancel()
        if disconnect.done() or self._is_evicted or (self._over and not self._waiting):
            return None
        size = 0
        while self._waiting and size < AT_ONCE:
            self._on_the_way.append(self._waiting.popleft())
            size += len(self._on_the_way[-1][1])
        name = self._name.encode()
        # Without a call: it is done for each word of a stream.
        return b"".join([b"id: %b%d\ndata: %b\n\n" % (name, *event) for event in self._on_the_way])

    def on_delivery(self) -> None:
        """Note that the taken messages were sent."""
        self._backlog.on_delivery(self, self._on_the_way)
        self._on_the_way = []
