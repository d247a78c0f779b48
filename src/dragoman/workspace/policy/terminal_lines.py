"""Lines from a terminal or a pipe, waited for without a thread, so that a question can be taken back.

One reader per descriptor. Bytes behind a line end are kept for the next line. Nothing is ever echoed by us;
`secret` asks the terminal not to echo either, and gives its settings back whatever happens. Where a system
cannot watch a descriptor, a thread waits for it; where a terminal cannot be asked, a secret is refused.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from dragoman.errors import LocalMistake

MOST_BYTES: Final = 1_048_576
"""A longer line is nobody's answer."""


def clock_time() -> str:
    """The time of day, for a question: whoever comes back to the terminal sees how long it has stood."""
    return time.strftime("%H:%M")


class TerminalLines:
    """Reads lines of text. Constructing one touches nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._partial_line = b""
        self._has_ended = False

    async def read(self, *, secret: bool = False) -> str | None:
        """The next line without its end, or None if there is none any more."""
        with self._silent() if secret else nullcontext():
            while (
                b"\n" not in self._partial_line
                and not self._has_ended
                and len(self._partial_line) < MOST_BYTES
            ):
                data = await self._more()
                self._has_ended = not data
                self._partial_line += data
        line, newline, rest = self._partial_line.partition(b"\n")
        self._partial_line = rest
        if not newline and not line:
            return None
        return line.decode("utf-8", "replace").removesuffix("\r")

    async def _more(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        try:
            loop.add_reader(self._descriptor, _wake, ready)
        except PermissionError:  # a plain file is always ready, and the system will not say so
            return os.read(self._descriptor, 65_536)
        except NotImplementedError:  # this system's loop watches sockets alone
            return await asyncio.to_thread(os.read, self._descriptor, 65_536)
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)
        try:
            return os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return await self._more()
        except OSError:  # the terminal has hung up
            return b""

    @contextmanager
    def _silent(self) -> Iterator[None]:
        if not os.isatty(self._descriptor):
            yield
            return
        try:
            import termios
        except ImportError:
            why = "a secret cannot be read here without showing it: this system has no POSIX terminals"
            raise LocalMistake(f"{why}; set it as a variable, or give it in a file") from None
        before = termios.tcgetattr(self._descriptor)
        quiet = termios.tcgetattr(self._descriptor)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)
        try:
            yield
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
