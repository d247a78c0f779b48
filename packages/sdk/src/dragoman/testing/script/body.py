"""How a scripted peer ends or breaks: it dies, hangs up, or keeps running when it should end.

In a process of its own it does all of it for real. Inside of a test it has no process to lose, and dying and
hanging up both close the connection, without a word.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import NoReturn, Protocol

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Transport


class Body(Protocol):
    """Carries out the verbs `die`, `close`, `linger` and `complain`."""

    async def die(self, status: int) -> NoReturn:
        """End now; a negative status is a signal."""

    async def close_output(self) -> None:
        """Send nothing any more, and close the output."""

    def linger(self) -> None:
        """Ignore the end of the input, and requests to end."""

    def complain(self, text: str) -> None:
        """Write a line to standard error."""


class MemoryBody:
    """A body inside another program's process."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def die(self, status: int) -> NoReturn:
        await self._transport.aclose()
        raise LinkClosed("the script said to die")

    async def close_output(self) -> None:
        await self._transport.aclose()

    def linger(self) -> None:
        pass  # there is nothing that could be asked to end

    def complain(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")


class ProcessBody:
    """A body that is a process, with its standard output reserved for the protocol."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.lingers = False

    async def die(self, status: int) -> NoReturn:
        if status < 0:
            with contextlib.suppress(OSError, ValueError):  # nobody can, or has to
                signal.signal(-status, signal.SIG_DFL)  # we handle some, and are to die of this one
            os.kill(os.getpid(), -status)
            await asyncio.sleep(1)  # a signal that is handled, or stopped us, gives us time
        os._exit(status if status >= 0 else 128 - status)

    async def close_output(self) -> None:
        finish = getattr(self._transport, "finish_writing", None)
        await (finish() if finish is not None else self._transport.aclose())

    def linger(self) -> None:
        self.lingers = True
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def complain(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
