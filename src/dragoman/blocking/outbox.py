"""What leaves: any thread adds frames, none of them waits for the peer while it holds the lock.

A frame goes out at once, if nothing is before it. What the system does not take is kept and pushed on by
whoever reads the pipe, or by a sender that waits for room; nobody who reads ever waits to write, because
the peer may be waiting for us to read. Frames that come in quick succession may be gathered for a moment
(`gather`), so that a stream costs one write for hundreds of them.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from math import inf
from time import monotonic

from dragoman.errors import LinkClosed
from dragoman.runtime.outbox import FLUSH_AT, HIGH_WATER, STALL_SECONDS, unread_answers
from dragoman.transport.file_outlet import FileOutlet

LINGER = 0.003
"""Seconds that a gathered frame waits for company at most."""

QUIET = 0.001
"""Seconds after which a frame is no longer part of a stream, and leaves at once."""

PATIENCE = 0.05
"""Seconds between two looks, while a sender waits for room, at whether it shall still send."""


class ThreadOutbox:
    """The way out. `wake` makes the reader look here: there is something to push, or to flush in time."""

    __slots__ = (
        "_buffer",
        "_last",
        "_moved_at",
        "_outlet",
        "_queue",
        "_wake",
        "_write",
        "broken",
        "due",
        "lock",
        "pending",
    )

    def __init__(self, fd: int, *, wake: Callable[[], None]) -> None:
        self._outlet = FileOutlet(fd)
        self._write = self._outlet.put
        self._wake = wake
        self.lock = threading.Lock()
        """Whoever holds it may `put`; the books of a conversation are kept under the same lock."""
        self._buffer = bytearray()
        self._queue: deque[memoryview] = deque()  # what the system did not take yet
        self._last = 0.0  # when something left
        self._moved_at = 0.0  # when the system last took something of the queue, or the queue began
        self.due = inf  # when something that was gathered must leave
        self.pending = 0  # bytes in the queue
        self.broken = ""  # why nothing can be sent any more

    @property
    def fd(self) -> int:
        return self._outlet.fd

    @property
    def is_congested(self) -> bool:
        """Whether so many bytes wait that a sender should wait too."""
        return self.pending > HIGH_WATER

    def check_stalled(self) -> None:
        """Raises `LinkClosed` if so long nothing was taken that nothing will be."""
        if self.pending and monotonic() - self._moved_at > STALL_SECONDS:
            raise LinkClosed(unread_answers(self.pending))

    def add(self, frame: bytes) -> None:
        """Send it now, after what came before it."""
        with self.lock:
            self.put(frame)

    def put(self, frame: bytes) -> None:
        """`add` for a caller that holds the lock."""
        if self._buffer or self._queue or self.broken:
            self._buffer += frame
            self._send_buffer()
            return
        try:
            sent_bytes = self._write(frame)
        except OSError as error:
            sent_bytes = self._on_write_error(error, len(frame))
        if sent_bytes != len(frame):
            self._keep(memoryview(frame)[sent_bytes:])

    def gather(self, frame: bytes) -> bool:
        """Send it now if the stream is quiet, else within a moment. True when the sender should wait."""
        with self.lock:
            self._buffer += frame
            now = monotonic()
            if len(self._buffer) >= FLUSH_AT or now - self._last > QUIET:
                self._last = now
                self._send_buffer()
                return self.pending > HIGH_WATER
            if self.due == inf:
                self.due = now + LINGER
                self._wake()
            return False

    def flush(self) -> None:
        """Send what was gathered."""
        with self.lock:
            self._send_buffer()

    async def flow(self) -> None:
        """As in the asyncio face; there is nothing to wait for that `wait_for_room` does not do."""
        self.flush()

    def push(self) -> None:
        """Write the queue, as far as the system takes it."""
        with self.lock:
            while self._queue:
                block = self._queue[0]
                try:
                    sent_bytes = self._write(block)
                except OSError as error:
                    sent_bytes = self._on_write_error(error, 0)
                if self.broken:
                    return
                if sent_bytes:
                    self._moved_at = monotonic()
                self.pending -= sent_bytes
                if sent_bytes != len(block):
                    self._queue[0] = block[sent_bytes:]
                    return
                self._queue.popleft()

    def wait_for_room(self, down_to: int = HIGH_WATER, *, check: Callable[[], None]) -> None:
        """Wait while more is kept than that. `check` is asked again and again, and raises to stop it."""
        while self.pending > down_to and not self.broken:
            check()
            poll = select.poll()
            poll.register(self._outlet.fd, select.POLLOUT)
            poll.poll(PATIENCE * 1000)
            self.push()
        if self.broken:
            raise LinkClosed(self.broken)

    def finish(self, seconds: float) -> None:
        """Give what is left so much time to leave; a peer that does not read loses what it did not read."""
        until = monotonic() + seconds

        def check() -> None:
            if monotonic() > until:
                raise LinkClosed("the peer does not read")

        try:
            self.wait_for_room(0, check=check)
        except LinkClosed:
            pass

    def close(self) -> None:
        with self.lock:
            self._stop("written to after close")
            self._outlet.close()

    def _send_buffer(self) -> None:
        if self.broken:
            raise LinkClosed(self.broken)
        if not self._buffer:
            return
        block, self._buffer = bytes(self._buffer), bytearray()
        self.due = inf
        sent_bytes = 0
        if not self._queue:
            try:
                sent_bytes = self._write(block)
            except OSError as error:
                sent_bytes = self._on_write_error(error, len(block))
        if sent_bytes != len(block):
            self._keep(memoryview(block)[sent_bytes:])

    def _keep(self, rest: memoryview) -> None:
        if not self._queue:
            self._moved_at = monotonic()
        self._queue.append(rest)
        self.pending += len(rest)
        self._wake()

    def _on_write_error(self, error: OSError, lost_bytes: int) -> int:
        """How many bytes count as written: none if the pipe is full, `lost_bytes` if the peer is gone."""
        if isinstance(error, BlockingIOError):
            return 0
        self._stop(f"the peer no longer reads ({os.strerror(error.errno or 0)})")
        self._wake()
        return lost_bytes

    def _stop(self, why: str) -> None:
        self.broken = self.broken or why
        self._queue.clear()
        self._buffer.clear()
        self.due = inf
        self.pending = 0
