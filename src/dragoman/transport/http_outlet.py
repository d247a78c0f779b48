"""One event stream of an HTTP connection: what waits for its reader, and what a reader that left may want
again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.transport.contract import Limits
from dragoman.transport.waiting import Waiters
from dragoman.wire.sse import encode_event

KEPT = 1024 * 1024
"""Bytes of delivered events that are kept for a reader that comes back."""


class Outlet:
    """Messages of one stream, in order. A writer waits while too much of it is unread."""

    def __init__(self, limits: Limits) -> None:
        self.is_read = False
        self._limits = limits
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._waiting_bytes = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._on_the_way: list[tuple[int, bytes]] = []
        self._number = 0
        self._news = asyncio.Event()
        self._room = Waiters()
        self._over = self._evicted = False

    async def put(self, message: bytes) -> None:
        """Append a message; returns when there is room for the next."""
        self._number += 1
        self._waiting.append((self._number, message))
        self._waiting_bytes += len(message)
        self._news.set()
        while self._waiting_bytes > self._limits.high and not self._over:
            await self._room.wait()

    def end(self) -> None:
        self._over = True
        self._news.set()
        self._room.wake()

    async def evict(self) -> None:
        """Its reader came back by another way: the old one, which may not know yet that it is gone, ends."""
        self._evicted = True
        self._news.set()
        while self.is_read:
            await self._room.wait()

    @contextmanager
    def reading(self, last: str) -> Iterator[None]:
        """Somebody reads it; `last` is the number of the event that they saw last, if they saw one before."""
        self.is_read = True
        self._evicted = False
        if last.isdigit():
            self._rewind(int(last))
        try:
            yield
        finally:
            self.is_read = False
            self._room.wake()
            self._rewind(self._on_the_way[0][0] - 1 if self._on_the_way else self._number)

    async def take(self, left: asyncio.Task[None], seconds: float) -> bytes | None:
        """Events that wait, nothing if there were none for a while, None at the end."""
        if not (self._waiting or self._over or self._evicted):
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait((news, left), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        if left.done() or self._evicted or (self._over and not self._waiting):
            return None
        self._on_the_way = list(self._waiting)
        self._waiting.clear()
        return b"".join(encode_event(message, event_id=str(number)) for number, message in self._on_the_way)

    def delivered(self) -> None:
        """What was taken is on the wire; it is kept for a while, because a wire may break behind it."""
        for number, message in self._on_the_way:
            self._waiting_bytes -= len(message)
            self._kept.append((number, message))
            self._kept_bytes += len(message)
        self._on_the_way = []
        while self._kept_bytes > KEPT and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popleft()[1])
        self._room.wake()

    def _rewind(self, last: int) -> None:
        """Everything after event `last` waits again, as far as it is kept."""
        self._waiting.extendleft(reversed(self._on_the_way))
        self._on_the_way = []
        while self._kept and self._kept[-1][0] > last:
            number, message = self._kept.pop()
            self._kept_bytes -= len(message)
            self._waiting.appendleft((number, message))
            self._waiting_bytes += len(message)
