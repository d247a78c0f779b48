"""The standard error of a child: always drained, its end kept.

A child whose standard error nobody reads stops when the pipe is full, in the middle of a turn and without a
word. So it is read at all times, even while the conversation is paused; only the last part is kept, for the
one who has to explain a death.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from dragoman.transport.contract import READ_SIZE

KEPT = 64 * 1024
"""Bytes of the end that are kept: enough for a long traceback."""


class StderrTail:
    """Reads a descriptor, which it owns, to its end."""

    __slots__ = ("_fd", "_kept", "_limit", "_loop", "_show", "total")

    def __init__(self, fd: int, *, kept: int = KEPT, show: Callable[[bytes], None] | None = None) -> None:
        """`show` is called with each chunk as it comes, for a log or a terminal."""
        self.total = 0
        self._fd = fd
        self._kept = bytearray()
        self._limit = kept
        self._show = show
        self._loop = asyncio.get_running_loop()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._readable)

    @property
    def text(self) -> str:
        """The kept end, readable whatever its encoding was meant to be."""
        return self._kept[-self._limit :].decode(errors="replace") if self._limit else ""

    def catch_up(self) -> None:
        """Take what is there already, for one who cannot wait for the loop; never more than a wide pipe
        holds.
        """
        for _ in range(16):
            if self._fd < 0 or not self._readable():
                return

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _readable(self) -> bool:
        try:
            chunk = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return False
        self.total += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._limit:  # not at every chunk: cutting costs a copy
            del self._kept[: len(self._kept) - self._limit]
        if self._show is not None:
            self._show(chunk)
        return True
