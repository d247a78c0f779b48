"""Standard output of a run: written without blocking the event loop, and with back-pressure.

What is put here leaves in the order it came, in few writes. A reader that is slow makes `flow` wait, and
with it whoever reads from the agent; one that is gone makes it raise `OutputClosed`, and a disk without room
`OutputFailed`. Nothing is dropped.
"""

from __future__ import annotations

import asyncio
import errno
import os

from dragoman.errors import DragomanError, LinkClosed
from dragoman.transport.contract import DEFAULT_LIMITS
from dragoman.transport.writer import open_writer

STDOUT = 1

BLOCK = 32 * 1024
"""The number of collected bytes that is written at once, without waiting for the loop's next step."""


class OutputClosed(DragomanError):
    """The reader of standard output has closed it."""


class OutputFailed(DragomanError):
    """Standard output can't be written, although its reader still waits."""


NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class OutputWriter:
    """Writes to a copy of a descriptor; needs a running loop."""

    def __init__(self, fd: int) -> None:
        self._writer = open_writer(os.dup(fd), limits=DEFAULT_LIMITS, on_broken=self._on_broken)
        self._failure = ""  # why it cannot be written, if it is not that nobody reads
        self._buffer = bytearray()
        self._is_flush_scheduled = False
        self.closed_event = asyncio.Event()

    def put(self, data: bytes) -> None:
        """Add output without waiting; call `flow` where waiting is possible."""
        if not data or self.closed_event.is_set():
            return
        self._buffer += data
        if len(self._buffer) >= BLOCK:
            self.flush()
        elif not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    @property
    def is_behind(self) -> bool:
        return self.closed_event.is_set() or self._writer.pending > DEFAULT_LIMITS.high

    async def flow(self) -> None:
        """Wait until the reader has caught up."""
        await self._drain(DEFAULT_LIMITS.low)

    async def finish(self) -> None:
        """Wait until all output was written."""
        self.flush()
        await self._drain(0)

    def close(self) -> None:
        self._buffer.clear()
        self._writer.close()

    async def _drain(self, down_to: int) -> None:
        try:
            await self._writer.drain(down_to)
        except LinkClosed as error:
            if self._failure:
                raise OutputFailed(f"standard output cannot be written: {self._failure}") from error
            raise OutputClosed("standard output was closed") from error

    def _on_broken(self, error: OSError) -> None:
        if error.errno in NO_ROOM:
            self._failure = (error.strerror or "no room is left").lower()
        self.closed_event.set()

    def flush(self) -> None:
        """Write the added output as far as possible at once."""
        self._is_flush_scheduled = False
        if self._buffer:
            block = bytes(self._buffer)
            self._buffer.clear()
            try:
                self._writer.write(block)
            except LinkClosed:
                pass  # `closed_event` is set, and `flow` tells whoever can act on it
