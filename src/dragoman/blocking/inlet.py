"""What arrives: one thread at a time waits for the pipe and takes what is there.

It waits with `poll`, so that deadlines are kept, and so that another thread can wake it. While it waits it
also pushes on what the way out has kept. The descriptor is never put into non-blocking mode: it may be
shared with others, and is read only when the system said that it will not wait.
"""

from __future__ import annotations

import os
import select

from dragoman.transport.contract import READ_SIZE


class Inlet:
    """Reads `fd`, and owns it."""

    __slots__ = ("_listening", "_poll", "_push_fd", "_wake_in", "_wake_out", "fd", "poll")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        self._poll = select.poll()  # not on Windows, where nobody makes one of these
        self._poll.register(fd, _readable())
        self._poll.register(self._wake_in, select.POLLIN)
        self.poll = self._poll.poll
        """Waits for the pipe, or to be woken; for who has nothing to push, and listens."""
        self._listening = True
        self._push_fd = -1  # the descriptor whose room we wait for

    @property
    def wake_fd(self) -> int:
        """A byte written to it wakes the reader; for `signal.set_wakeup_fd`."""
        return self._wake_out

    def wake(self) -> None:
        """Make the thread that waits in `read` come back, or the next one that tries to."""
        try:
            os.write(self._wake_out, b"\0")
        except OSError:
            pass  # it is full, so somebody is being woken already; or closed, so nobody is there

    def read(
        self, seconds: float | None, *, push_to: int = -1, listen: bool = True
    ) -> tuple[bytes | None, bool]:
        """What has arrived (nothing at the end of input, None when there was nothing to read), and whether
        `push_to` has room.
        """
        if push_to != self._push_fd or listen != self._listening:
            self._arrange(push_to, listen=listen)
        chunk: bytes | None = None
        room = False
        for fd, _ in self._poll.poll(None if seconds is None else max(0.0, seconds * 1000)):
            if fd == self.fd:
                chunk = self._take()
            elif fd == push_to:
                room = True
            else:
                self._settle_down()
        return chunk, room

    def release(self) -> int:
        """Give up the descriptor, to be read by somebody else."""
        fd, self.fd = self.fd, -1
        return fd

    def close(self) -> None:
        for fd in (self.release(), self._wake_in, self._wake_out):
            if fd >= 0:
                os.close(fd)
        self._wake_in = self._wake_out = -1

    def _take(self) -> bytes | None:
        try:
            return os.read(self.fd, READ_SIZE)
        except BlockingIOError:
            return None  # somebody who shares the descriptor was faster
        except OSError:  # EIO is how a terminal says that its other side is gone
            return b""

    def _settle_down(self) -> None:
        try:
            os.read(self._wake_in, 4096)
        except BlockingIOError:
            pass  # a signal came and went

    def _arrange(self, push_to: int, *, listen: bool) -> None:
        if self._push_fd >= 0:
            self._poll.unregister(self._push_fd)
        if push_to >= 0:
            self._poll.register(push_to, select.POLLOUT)
        if listen and not self._listening:
            self._poll.register(self.fd, _readable())
        elif self._listening and not listen:
            self._poll.unregister(
                self.fd
            )  # asking for no events would still tell of a hang-up, again and again
        self._push_fd, self._listening = push_to, listen


def _readable() -> int:
    return select.POLLIN | select.POLLHUP | select.POLLERR
