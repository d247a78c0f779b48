"""A transport over two file descriptors: pipes, sockets, terminals, files.

It owns the descriptors that it is given and closes them. It never changes how they block (see
`file_outlet`). The end of what the peer sends does not close the way back: `agent < requests > answers`
still has its answers to write, so after `ended(None)` writing works until `aclose`. A peer that no longer
reads has gone; what it sent before that is still fed first.
"""

from __future__ import annotations

import asyncio
import os

from dragoman.errors import LinkClosed
from dragoman.transport.contract import DEFAULT_LIMITS, Sink, TransportLimits
from dragoman.transport.reader import Frames, Reader, open_reader
from dragoman.transport.waiters import Waiters
from dragoman.transport.writer import Block, open_writer

LINGER = 0.2
"""The seconds of silence after which a peer that no longer reads counts as gone; its last output arrives
faster.
"""


class PipeTransport:
    """One end of a stream that is read from one descriptor and written to another (or the same, for a
    socket).
    """

    __slots__ = (
        "_closing",
        "_has_ended",
        "_is_closed",
        "_is_paused",
        "_linger",
        "_read_fd",
        "_reader",
        "_sink",
        "_waiters",
        "_writer",
        "limits",
    )

    def __init__(self, read_fd: int, write_fd: int, *, limits: TransportLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._read_fd = read_fd
        # One descriptor for both would be closed twice.
        write_fd = os.dup(write_fd) if write_fd == read_fd else write_fd
        self._writer = open_writer(write_fd, limits=limits, on_broken=self._on_write_broken)
        self._reader: Reader | None = None
        self._sink: Sink | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._is_paused = self._has_ended = self._closing = self._is_closed = False
        self._waiters = Waiters()

    def start(self, sink: Sink) -> None:
        if self._sink is not None:
            raise RuntimeError("a transport is started once")
        self._sink = sink
        if self._closing:
            self._end(None)
            return
        frames = Frames(sink, limit=self.limits.frame)
        self._reader = open_reader(self._read_fd, intake=frames, on_end=self._on_read_end)
        if self._is_paused:
            self._reader.pause()

    def write(self, block: Block) -> None:
        if self._closing:
            raise LinkClosed("written to after close")
        self._writer.write(block)

    @property
    def pending(self) -> int:
        return self._writer.pending

    async def drain(self) -> None:
        await self._writer.drain(self.limits.low)

    def pause(self) -> None:
        self._is_paused = True
        if self._reader is not None:
            self._reader.pause()

    def resume(self) -> None:
        self._is_paused = False
        if self._reader is not None:
            self._reader.resume()

    @property
    def read_bytes(self) -> int:
        """The number of bytes read so far; a caller that waits for silence watches it."""
        return self._reader.read_bytes if self._reader is not None else 0

    async def finish_writing(self) -> None:
        """Flush as far as possible and close the output, so that the peer sees the end; reading continues."""
        self._closing = True
        try:
            async with asyncio.timeout(self.limits.flush):
                await self._writer.drain(0)
        except (TimeoutError, LinkClosed):
            pass  # a peer that does not read loses what it did not read
        finally:
            self._writer.close()

    async def aclose(self) -> None:
        if self._closing:
            while not self._is_closed:
                await self._waiters.wait()
            return
        try:
            await self.finish_writing()
        finally:
            self.release()

    def release(self) -> None:
        """Free all resources now, flushed or not."""
        self._closing = True
        self._writer.close()
        if self._linger is not None:
            self._linger.cancel()
        if self._reader is not None:
            self._reader.close()
        elif not self._is_closed:
            os.close(self._read_fd)
        self._is_closed = True
        self._end(None)
        self._waiters.wake()

    def _on_read_end(self, error: OSError | None) -> None:
        self._end(None if error is None else LinkClosed(f"reading failed: {error.strerror}"))

    def _on_write_broken(self, error: OSError) -> None:
        if not (self._has_ended or self._closing):
            self._await_last_words(error, read_before=-1)

    def _await_last_words(self, error: OSError, *, read_before: int) -> None:
        read_now = self.read_bytes
        if read_now == read_before and not self._is_paused:
            if self._reader is not None:
                self._reader.close()
            self._end(LinkClosed(f"the peer no longer reads ({error.strerror})"))
            return
        loop = asyncio.get_running_loop()
        self._linger = loop.call_later(LINGER, lambda: self._await_last_words(error, read_before=read_now))

    def _end(self, reason: BaseException | None) -> None:
        if self._sink is not None and not self._has_ended:
            self._has_ended = True
            self._sink.on_end(reason)
