"""Reads a file descriptor block by block and feeds whole frames to a sink.

The event loop watches the descriptor and `os.read` takes what is there, so the descriptor may stay in
blocking mode: a read is made only when the system said that it will not wait. What a loop cannot watch
(regular files, `/dev/null`, all of Windows' handles) is read by a thread that stays at most a few blocks
ahead.

Readers know descriptors and newlines. What an end of the stream means is for the transport to say.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from dragoman.transport.contract import READ_SIZE, Sink
from dragoman.wire.framing import LineFramer

AHEAD = 4
"""The most blocks that a reading thread may be ahead of their consumer: enough to overlap."""

OnReadEnd = Callable[[OSError | None], None]


class ChunkSink(Protocol):
    """Receives chunks in order, and the end of the stream."""

    def feed(self, chunk: bytes) -> None: ...
    def finish(self) -> None: ...


class Reader(Protocol):
    """The interface of a transport's reader."""

    read_bytes: int

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


def open_reader(fd: int, *, intake: ChunkSink, on_end: OnReadEnd) -> Reader:
    """Return a suitable reader for `fd`, which owns it. `on_end` is called once, unless
    `close` comes first.
    """
    if os.name != "nt":  # there, a loop may promise to watch a handle, and fail when it is too late
        try:
            return LoopReader(fd, intake=intake, on_end=on_end)
        except OSError:  # epoll refuses it: a regular file, or the like
            pass
    return ThreadReader(fd, intake=intake, on_end=on_end)


class Frames:
    """Cuts chunks into blocks of whole frames for a sink."""

    __slots__ = ("_framer", "_sink")

    def __init__(self, sink: Sink, *, limit: int) -> None:
        self._framer = LineFramer(limit)
        self._sink = sink

    def feed(self, chunk: bytes) -> None:
        self._pass_on(self._framer.feed(chunk))

    def finish(self) -> None:
        """Pass on the last frame, even without a newline."""
        self._pass_on(self._framer.finish())

    def _pass_on(self, block: bytes) -> None:
        for size in self._framer.take_skipped():
            self._sink.on_oversized(size)
        if block:
            self._sink.feed(block)


def _out_of_memory() -> OSError:
    """What was read is lost, and whoever waits for an answer to it would wait for ever: the end is told."""
    return OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


class LoopReader:
    """Reads when the event loop reports data."""

    __slots__ = ("_fd", "_intake", "_is_paused", "_loop", "_on_end", "_over", "read_bytes")

    def __init__(self, fd: int, *, intake: ChunkSink, on_end: OnReadEnd) -> None:
        self.read_bytes = 0
        self._fd = fd
        self._intake = intake
        self._on_end = on_end
        self._is_paused = self._over = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._readable)

    def pause(self) -> None:
        if not (self._is_paused or self._over):
            self._loop.remove_reader(self._fd)
        self._is_paused = True

    def resume(self) -> None:
        if self._is_paused and not self._over:
            self._loop.add_reader(self._fd, self._readable)
        self._is_paused = False

    def close(self) -> None:
        if not self._over:
            self._over = True
            if not (self._is_paused or self._loop.is_closed()):
                self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _readable(self) -> None:
        try:
            chunk = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:  # EIO is how a terminal says that its other side is gone
            self._finish(error)
            return
        if chunk:
            self.read_bytes += len(chunk)
            try:
                self._intake.feed(chunk)
            except MemoryError:
                self.close()
                self._on_end(_out_of_memory())
        else:
            self._finish(None)

    def _finish(self, error: OSError | None) -> None:
        self.close()
        self._intake.finish()
        self._on_end(error)


class ThreadReader:
    """Reads in a daemon thread, which owns the descriptor: a blocked read can't be interrupted, only
    abandoned.
    """

    def __init__(self, fd: int, *, intake: ChunkSink, on_end: OnReadEnd) -> None:
        self.read_bytes = 0
        self._fd = fd
        self._intake = intake
        self._on_end = on_end
        self._chunks: deque[bytes | OSError] = deque()  # handed over while paused; at most AHEAD
        self._is_paused = self._over = False
        self._permits = threading.Semaphore(AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name=f"read descriptor {fd}", daemon=True).start()

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._loop.call_soon(self._take)

    def close(self) -> None:
        self._over = True
        self._permits.release()  # if the thread waits for a permit, it shall see that it is over

    def _run(self) -> None:
        try:
            while not self._over and self._hand_over(self._read()):
                self._permits.acquire()
        finally:
            os.close(self._fd)

    def _read(self) -> bytes | OSError:
        try:
            return os.read(self._fd, READ_SIZE)
        except OSError as error:
            return error

    def _hand_over(self, chunk: bytes | OSError) -> bool:
        """Give a chunk to the loop; False when it was the last one."""
        try:
            self._loop.call_soon_threadsafe(self._on_chunk, chunk)
        except RuntimeError:  # the loop is closed: nobody is left to read for
            return False
        return isinstance(chunk, bytes) and chunk != b""

    def _on_chunk(self, chunk: bytes | OSError) -> None:
        self._chunks.append(chunk)
        self._take()

    def _take(self) -> None:
        while self._chunks and not (self._is_paused or self._over):
            chunk = self._chunks.popleft()
            self._permits.release()
            if isinstance(chunk, bytes) and chunk:
                self.read_bytes += len(chunk)
                try:
                    self._intake.feed(chunk)
                except MemoryError:
                    self.close()
                    self._on_end(_out_of_memory())
            else:
                self._over = True
                self._intake.finish()
                self._on_end(None if isinstance(chunk, bytes) else chunk)
