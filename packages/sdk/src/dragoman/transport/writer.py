"""Writes blocks to a file descriptor without ever blocking.

A block goes through at once if nothing waits before it; what the system does not take is kept and flushed
when the loop says that there is room. A large block is kept as it is, not copied, so that a message of a
hundred megabytes is not held twice.

Writers know descriptors and bytes. How a descriptor is written to without blocking is `file_outlet`'s to
know.
"""

from __future__ import annotations

import asyncio
import errno
import os
import queue
import threading
from collections.abc import Callable
from typing import Protocol

from dragoman.errors import LinkClosed
from dragoman.transport.contract import TransportLimits
from dragoman.transport.file_outlet import FileOutlet
from dragoman.transport.waiters import Waiters

Block = bytes | bytearray | memoryview
OnBroken = Callable[[OSError], None]

NOTHING = memoryview(b"")


class FrameWriter(Protocol):
    """The interface of a transport's writer."""

    @property
    def pending(self) -> int: ...
    def write(self, block: Block) -> None: ...
    async def drain(self, down_to: int) -> None: ...
    def close(self) -> None: ...


def open_writer(fd: int, *, limits: TransportLimits, on_broken: OnBroken) -> FrameWriter:
    """Return a suitable writer for `fd`; the writer owns it from now on."""
    if os.name == "nt":
        return ThreadWriter(fd, limits=limits, on_broken=on_broken)
    return LoopWriter(FileOutlet(fd), limits=limits, on_broken=on_broken)


class LoopWriter:
    """Writes directly, and flushes the rest when the event loop reports room."""

    __slots__ = (
        "_close_reason",
        "_head",
        "_limits",
        "_loop",
        "_on_broken",
        "_outlet",
        "_put",
        "_tail",
        "_waiters",
    )

    def __init__(self, outlet: FileOutlet, *, limits: TransportLimits, on_broken: OnBroken) -> None:
        self._outlet = outlet
        self._put = outlet.put
        self._limits = limits
        self._on_broken = on_broken
        self._close_reason = ""  # why nothing can be written any more
        self._head = NOTHING  # is being sent
        self._tail = bytearray()  # comes after it
        self._waiters = Waiters()
        self._loop: asyncio.AbstractEventLoop | None = None  # while it watches the descriptor for us

    @property
    def pending(self) -> int:
        return len(self._head) + len(self._tail)

    def write(self, block: Block) -> None:
        if self._close_reason:
            raise LinkClosed(self._close_reason)
        if self._head:
            self._tail += block
            return
        try:
            count = self._put(block)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._break(error)
            raise LinkClosed(self._close_reason) from error
        if count < len(block):
            self._keep(block, count)
            self._watch()

    def _keep(self, block: Block, count: int) -> None:
        """The rest of a block, of which a part is written. Only `bytes` are kept without a copy: the caller
        may change anything else.
        """
        if isinstance(block, bytes):
            self._head = memoryview(block)[count:]
            return
        try:
            self._head = memoryview(bytes(memoryview(block)[count:]))
        except MemoryError:
            self._break(OSError(errno.ENOMEM, "no memory"))  # half a frame is out: nothing can follow it
            raise LinkClosed(self._close_reason) from None

    async def drain(self, down_to: int) -> None:
        while self.pending > down_to:
            await self._waiters.wait()
        if self._close_reason:
            raise LinkClosed(self._close_reason)

    def close(self) -> None:
        self._stop("written to after close")
        self._outlet.close()

    def _watch(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.add_writer(self._outlet.fd, self._writable)

    def _writable(self) -> None:
        try:
            count = self._put(self._head)
        except BlockingIOError:
            return
        except OSError as error:
            self._break(error)
            return
        self._head = self._head[count:]
        if not self._head:
            self._next()
        if self.pending <= self._limits.low:
            self._waiters.wake()

    def _next(self) -> None:
        if self._tail:
            self._head, self._tail = memoryview(self._tail), bytearray()
        else:
            self._head = NOTHING
            self._unwatch()

    def _unwatch(self) -> None:
        if self._loop is not None:
            self._loop.remove_writer(self._outlet.fd)
            self._loop = None

    def _break(self, error: OSError) -> None:
        self._stop(f"the peer no longer reads ({os.strerror(error.errno or 0)})")
        self._on_broken(error)

    def _stop(self, why: str) -> None:
        if not self._close_reason:
            self._close_reason = why
            self._unwatch()
            self._head, self._tail = NOTHING, bytearray()
            self._waiters.wake()


class ThreadWriter:
    """Writes in a daemon thread, for handles that can only block."""

    def __init__(self, fd: int, *, limits: TransportLimits, on_broken: OnBroken) -> None:
        self._fd = fd
        self._limits = limits
        self._on_broken = on_broken
        self._close_reason = ""
        self._pending = 0  # touched by the loop's thread alone
        self._blocks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiters = Waiters()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def pending(self) -> int:
        return self._pending

    def write(self, block: Block) -> None:
        if self._close_reason:
            raise LinkClosed(self._close_reason)
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._run, name=f"write descriptor {self._fd}", daemon=True).start()
        self._pending += len(block)
        self._blocks.put(bytes(block))

    async def drain(self, down_to: int) -> None:
        while self._pending > down_to:
            await self._waiters.wait()
        if self._close_reason:
            raise LinkClosed(self._close_reason)

    def close(self) -> None:
        if self._loop is None and not self._close_reason:
            os.close(self._fd)
        self._stop("written to after close")

    def _run(self) -> None:
        """Write until there is nothing more to come; the thread closes what it writes to."""
        try:
            while (block := self._blocks.get()) is not None:
                view = memoryview(block)
                while view:
                    view = view[os.write(self._fd, view) :]
                self._tell(self._wrote, len(block))
        except OSError as error:
            self._tell(self._break, error)
        finally:
            os.close(self._fd)

    def _tell(self, callback: Callable[..., None], value: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, value)
        except RuntimeError:  # the loop is closed: nobody waits for this any more
            self._blocks.put(None)

    def _wrote(self, size: int) -> None:
        self._pending = max(0, self._pending - size)
        if self._pending <= self._limits.low:
            self._waiters.wake()

    def _break(self, error: OSError) -> None:
        self._stop(f"the peer no longer reads ({os.strerror(error.errno or 0)})")
        self._on_broken(error)

    def _stop(self, why: str) -> None:
        if not self._close_reason:
            self._close_reason = why
            self._pending = 0
            self._blocks.put(None)
            self._waiters.wake()
