"""A program in a terminal of ours: what it writes is read at once, with the moment it came. Linux only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping

COLUMNS, ROWS = 100, 30
KEPT = 4096
"""Bytes of what was written before that may hold the beginning of what is looked for."""


class Terminal:
    """Made by `in_terminal`. Times are of the monotonic clock, which all processes share."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int, began: float) -> None:
        self.began = began
        self._process = process
        self._descriptor = descriptor
        self._written = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def until(self, text: str, *, seconds: float = 60.0) -> float:
        """The moment when this was written, from the last such moment on. A single letter that stands nowhere
        else is best: what stands beside another on the screen need not be written beside it.
        """
        wanted, give_up = text.encode(), time.monotonic() + seconds
        while wanted not in self._written:
            if not self.read(give_up - time.monotonic()):
                raise RuntimeError(f"{text!r} was not written; last was {self._written[-500:]!r}")
        moment = time.monotonic()
        self._written = self._written[self._written.index(wanted) + len(wanted) :]
        return moment

    def read(self, seconds: float) -> bool:
        """Take what comes next; False if nothing does."""
        if not select.select([self._descriptor], [], [], max(0.0, seconds))[0]:
            return False
        try:
            chunk = os.read(self._descriptor, 65536)
        except OSError:  # it has hung up
            return False
        self._written = self._written[-KEPT:] + chunk
        return bool(chunk)

    def idle(self, seconds: float) -> None:
        """Let time pass, and the program write."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def press(self, keys: str) -> float:
        """The moment when they were pressed."""
        moment = time.monotonic()
        os.write(self._descriptor, keys.encode())
        return moment

    def end(self) -> None:
        self.press("\x11")  # Ctrl+Q
        until = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < until:
            self.read(0.05)


@contextlib.contextmanager
def in_terminal(command: list[str], *, env: Mapping[str, str]) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    settings = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env}
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, start_new_session=True
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours, began)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)
