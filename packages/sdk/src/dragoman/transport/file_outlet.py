"""Writes to a file descriptor of any kind without blocking, even if others share it.

`O_NONBLOCK` belongs to the open file description, which an inherited descriptor shares with our parent, our
children and perhaps a shell: setting it there breaks programs that we never see. So it is set only on
descriptors that we made ourselves, and the others are written to in the cheapest way that asks for it per
call:

- a descriptor that is non-blocking already is written to as it is;
- a socket takes `MSG_DONTWAIT` with each call;
- a pipe or terminal is opened anew through `/proc`, which gives a description of our own;
- where that is refused, we ask whether there is room and write no more than the system then promises to take;
- regular files and the like never make a writer wait for a peer, and are written to in full.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from collections.abc import Callable
from functools import partial

Put = Callable[[bytes | bytearray | memoryview], int]

STDERR = 2


class FileOutlet:
    """A descriptor to write to. `put` writes as much as the system accepts at once, or raises
    `BlockingIOError`.
    """

    __slots__ = ("_socket", "fd", "put")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._socket: socket.socket | None = None
        self.put: Put = self._choose()

    def close(self) -> None:
        if self.fd < 0:
            return
        if self._socket is not None:
            self._socket.detach()  # the descriptor is ours to close, exactly once
        fd, self.fd = self.fd, -1
        os.close(fd)

    def _choose(self) -> Put:
        mode = os.fstat(self.fd).st_mode
        if stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(self.fd)):
            return self._write_all
        if not os.get_blocking(self.fd):
            return partial(os.write, self.fd)
        if stat.S_ISSOCK(mode):
            self._socket = socket.socket(fileno=self.fd)
            return self._send
        if stat.S_ISFIFO(mode) and self._reopen():
            return partial(os.write, self.fd)
        return self._write_polled

    def _reopen(self) -> bool:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fresh = os.open(f"/proc/self/fd/{self.fd}", flags)
        except OSError:  # no /proc, not our pipe, or nobody reads it any more: the first write will tell
            return False
        os.close(self.fd)
        self.fd = fresh
        return True

    def _send(self, data: bytes | bytearray | memoryview) -> int:
        assert self._socket is not None
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def _write_polled(self, data: bytes | bytearray | memoryview) -> int:
        if not writable(self.fd):
            raise BlockingIOError
        return os.write(self.fd, memoryview(data)[: select.PIPE_BUF])

    def _write_all(self, data: bytes | bytearray | memoryview) -> int:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.fd, rest) :]
        return len(data)


def writable(fd: int, *, seconds: float = 0.0) -> bool:
    """Whether a write of up to `select.PIPE_BUF` bytes would not wait (though it may fail at once)."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(seconds * 1000))


def stderr_writer() -> Callable[[bytes], None] | None:
    """Return a function that writes to our standard error without blocking, for the errors of a child
    program; None on Windows. Errors without a reader are dropped.
    """
    if os.name == "nt":  # there is no way to ask whether a write would block
        return None

    def show(text: bytes) -> None:
        try:
            while text and writable(STDERR):
                text = text[os.write(STDERR, text[:4096]) :]
        except OSError:
            pass  # standard error is closed

    return show
