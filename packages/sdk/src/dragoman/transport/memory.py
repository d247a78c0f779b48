"""Two transports joined in memory: one end receives what the other writes, in the loop's next step.

Both ends live in one event loop. Frames are cut, limited and counted as on a pipe, so that what holds here
holds there; only nothing is ever lost between the ends, because there is no system in between.
"""

from __future__ import annotations

import asyncio

from dragoman.errors import LinkClosed
from dragoman.transport.contract import DEFAULT_LIMITS, READ_SIZE, Sink, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman.wire.framing import LineFramer


def memory_pair(*, limits: TransportLimits = DEFAULT_LIMITS) -> tuple[MemoryTransport, MemoryTransport]:
    """Return two ends that are joined to each other."""
    first, second = MemoryTransport(limits=limits), MemoryTransport(limits=limits)
    first.peer, second.peer = second, first
    return first, second


class MemoryTransport:
    """One end of a pair."""

    __slots__ = (
        "_arriving",
        "_arriving_size",
        "_framer",
        "_has_ended",
        "_hung_up",
        "_is_closed",
        "_is_paused",
        "_is_scheduled",
        "_sink",
        "_writers",
        "limits",
        "peer",
    )

    peer: MemoryTransport

    def __init__(self, *, limits: TransportLimits) -> None:
        self.limits = limits
        self._framer = LineFramer(limits.frame)
        self._sink: Sink | None = None
        self._arriving: list[bytes] = []  # written by the peer, not yet fed to our sink
        self._arriving_size = 0
        self._writers = Waiters()  # of the peer, waiting for `_arriving` to shrink
        self._is_paused = self._is_scheduled = False
        self._is_closed = self._hung_up = self._has_ended = (
            False  # we closed; the peer closed; the sink has been told
        )

    def start(self, sink: Sink) -> None:
        if self._sink is not None:
            raise RuntimeError("a transport is started once")
        self._sink = sink
        if self._is_closed:
            self._end()
        self._schedule()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._is_closed or self.peer._is_closed:
            raise LinkClosed("written to after close" if self._is_closed else "the peer has closed its end")
        self.peer._arrive(bytes(block))

    @property
    def pending(self) -> int:
        return 0 if self._is_closed else self.peer._arriving_size

    async def drain(self) -> None:
        while self.pending > self.limits.low:
            await self.peer._writers.wait()
        if self._is_closed or self.peer._is_closed:
            raise LinkClosed("the link was closed while waiting to write")

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._schedule()

    async def aclose(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._arriving.clear()
        self._arriving_size = 0
        self._writers.wake()  # the peer's writers, who write to nobody now
        self.peer._hang_up()
        self._end()

    def _arrive(self, block: bytes) -> None:
        self._arriving.append(block)
        self._arriving_size += len(block)
        self._schedule()

    def _hang_up(self) -> None:
        self._hung_up = True
        self._writers.wake()
        self._schedule()

    def _schedule(self) -> None:
        has_work = self._arriving or self._hung_up
        if (
            has_work
            and self._sink is not None
            and not (self._is_scheduled or self._is_paused or self._has_ended)
        ):
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_scheduled = False
        if self._is_paused or self._has_ended:
            return
        if self._arriving:
            self._feed(self._framer.feed(self._take()))
        elif self._hung_up:
            self._feed(self._framer.finish())
            self._end()
        self._schedule()

    def _take(self) -> bytes:
        """As much as one read from a pipe would bring, so that a paused sink is never far behind its word."""
        count, size = 1, len(self._arriving[0])
        while count < len(self._arriving) and size + len(self._arriving[count]) <= READ_SIZE:
            size += len(self._arriving[count])
            count += 1
        blocks = self._arriving[:count]
        del self._arriving[:count]
        self._arriving_size -= size
        if self._arriving_size <= self.limits.low:
            self._writers.wake()
        return b"".join(blocks)

    def _feed(self, block: bytes) -> None:
        assert self._sink is not None
        for size in self._framer.take_skipped():
            self._sink.on_oversized(size)
        if block:
            self._sink.feed(block)

    def _end(self) -> None:
        if self._sink is not None and not self._has_ended:
            self._has_ended = True
            self._sink.on_end(None)
