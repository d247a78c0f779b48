"""How the terminal client is ended from outside: by a signal, or by the end of its terminal.

The orderly way closes the conversation and gives the terminal back. It is bounded: a terminal that does not
read, or an agent that does not let go, cannot hold it up. What we own ends with us either way (see
`transport.guard`).
"""

from __future__ import annotations

import os
import signal
from types import TracebackType

from dragoman.sdk.shutdown import ShutdownSignals

WITHIN = 6.0
"""Seconds: an agent that ignores everything is killed after four."""

HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)

ENDING = tuple({signal.SIGTERM, signal.SIGINT, HANGUP, getattr(signal, "SIGQUIT", signal.SIGTERM)})


class TerminalEnd(ShutdownSignals):
    """An `EndRequest` of the terminal client."""

    def __init__(self) -> None:
        super().__init__(within=WITHIN, signals=ENDING)

    @property
    def status(self) -> int:
        """The exit status that shells give to a program that a signal ended; 0 if none came."""
        return 0 if self.number is None else 128 + self.number

    def hang_up(self) -> None:
        self.ask(HANGUP)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.number == HANGUP:
            # What is still in Python's buffers cannot be written, and would make the exit status 120.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for fd in (1, 2):
                os.dup2(nowhere, fd)
            os.close(nowhere)
