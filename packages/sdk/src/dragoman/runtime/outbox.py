"""Gathers frames and hands them to the transport in blocks.

Many small frames leave in one write per turn of the event loop, or sooner when about a pipe's worth has
gathered; a lone request or answer is written through at once, so latency does not pay for throughput. A
sender that awaits `flow` waits while the transport holds more than the high-water mark, counted in bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.errors import LinkClosed
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.transport.contract import Transport

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = DeferredModule("asyncio")

FLUSH_AT = 48 * 1024  # fits an empty pipe of the usual 64 KiB
HIGH_WATER = 256 * 1024  # a sender waits above this
STALL_SECONDS = 60.0
"""The seconds after which calls fail if a peer keeps sending requests and has read none of our answers. The
time counts only while the link, at its hard limit, does not read either.
"""
LARGE = 32 * 1024  # copying a body of this size into the buffer costs more than a write of its own


def unread_answers(pending: int) -> str:
    """The reason why a conversation with a peer that does not read has ended."""
    waiting = f"{pending:,} bytes wait, and none was taken for {STALL_SECONDS:g} seconds"
    return f"the peer sends requests and does not read the answers: {waiting}"


class Outbox:
    """The frames to send. Hot paths may append to `buffer` directly, followed by `schedule` or `flow`."""

    __slots__ = ("_loop", "_transport", "buffer", "is_scheduled")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self.is_scheduled = False
        self.buffer = bytearray()

    def add(self, frame: bytes) -> None:
        """Send a frame with the next block."""
        self.gather(frame)
        if self.buffer and not self.is_scheduled:
            self.schedule()

    def gather(self, frame: bytes) -> None:
        """Send a frame with the next block, which the caller flushes: another step of the loop would cost
        more than the answer to a single request.
        """
        if len(frame) >= LARGE:
            self.flush()
            self._transport.write(frame)
            return
        self.buffer += frame
        if len(self.buffer) >= FLUSH_AT:
            self.flush()

    def schedule(self) -> None:
        """Send `buffer` when this step of the loop ends: a frame was appended to it."""
        self.is_scheduled = True
        self._loop.call_soon(self._tick)

    def add_now(self, frame: bytes) -> None:
        """Send a frame, and those gathered before it, without waiting for the end of the loop's turn."""
        if self.buffer:
            self.buffer += frame
            self.flush()
        else:
            self._transport.write(frame)

    def flush(self) -> None:
        if self.buffer:
            block, self.buffer = self.buffer, bytearray()
            self._transport.write(block)

    async def flow(self) -> None:
        """Wait until there is room. Let the loop run at least once, so that a cancel can be received."""
        self.flush()
        if self._transport.pending > HIGH_WATER:
            await self._transport.drain()
        else:
            await asyncio.sleep(0)

    def _tick(self) -> None:
        self.is_scheduled = False
        try:
            self.flush()
        except LinkClosed:
            pass  # the link is told by the transport; senders learn it from their next call
