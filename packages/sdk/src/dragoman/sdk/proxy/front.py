"""A transport that reads its first block early, so that this block can decide who handles the connection.

It is the transport that it was given, in all other respects. Reading stops behind the first block until
`start`, and begins with that block again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import TypeVar

from msgspec import UNSET

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport
from dragoman.wire import ErrorObject, failure
from dragoman.wire.glance import glance_block

T = TypeVar("T")


class FirstBlockTransport(PassingTransport):
    """Reads the first block with `first`; `start` then gives it to its sink."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._sink: Sink | None = None
        self._first: bytes | None = None
        self._has_first = asyncio.Event()
        self._end_reasons: list[BaseException | None] = []  # the end, if it came before the sink
        self._skipped_sizes: list[int] = []
        self._is_paused = False  # by whoever started us

    async def first(self) -> bytes | None:
        """Start reading, and return the first block, or None if there is none."""
        self.inner.start(self)
        await self._has_first.wait()
        return self._first

    def refuse_first(self, error: ErrorObject) -> None:
        """Answer every request of the first block with an error."""
        for glance in glance_block(self._first or b""):
            if glance.method is not UNSET and glance.id is not UNSET:
                with contextlib.suppress(LinkClosed):
                    self.inner.write(failure(glance.id, error))

    # The transport.

    def start(self, sink: Sink) -> None:
        self._sink = sink
        for size in self._skipped_sizes:
            sink.on_oversized(size)
        if self._first is not None:
            sink.feed(self._first)
            self._first = None  # it may be large
        for reason in self._end_reasons:
            sink.on_end(reason)
        if not self._is_paused:  # the sink may have had enough already
            self.inner.resume()

    def pause(self) -> None:
        self._is_paused = True
        self.inner.pause()

    def resume(self) -> None:
        self._is_paused = False
        self.inner.resume()

    # The sink.

    def feed(self, block: bytes) -> None:
        if self._sink is not None:
            self._sink.feed(block)
        else:
            self.inner.pause()
            self._first = block
            self._has_first.set()

    def on_oversized(self, size: int) -> None:
        if self._sink is not None:
            self._sink.on_oversized(size)
        else:
            self._skipped_sizes.append(size)

    def on_end(self, reason: BaseException | None) -> None:
        self._has_first.set()
        if self._sink is not None:
            self._sink.on_end(reason)
        else:
            self._end_reasons.append(reason)


async def until(stop: asyncio.Event, work: Coroutine[object, None, T]) -> T | None:
    """Return the result of the work; None if `stop` is set before the work ends."""
    loop = asyncio.get_running_loop()
    working, stopping = loop.create_task(work), loop.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.wait((working, stopping))
