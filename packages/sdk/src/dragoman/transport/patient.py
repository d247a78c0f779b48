"""A standard error that never blocks its writers for long.

A client that starts an agent and does not read its standard error lets the pipe fill; from then on every log
line would stop the agent, without a word and for ever. So writing here waits a moment at most: what finds no
room is dropped and counted. Once a piece was dropped nothing is waited for any more, until there is room
again.

`claim_stderr` puts this in the place of `sys.stderr`, and under the log handlers that already hold the old
one. Who writes to descriptor 2 behind Python's back (C libraries, child processes) waits as before.
"""

from __future__ import annotations

import io
import os
import sys
import threading

PATIENCE = 0.1
"""The seconds that the descriptor has to accept a piece before the piece is dropped."""

PIECE = 4096
"""The bytes that a pipe with room accepts without waiting (`PIPE_BUF` on Linux)."""

_turn = threading.Lock()
"""Who was told that there is room writes before anybody else is asked, or the second of two would wait."""


def _renew_lock() -> None:
    global _turn
    _turn = threading.Lock()  # whoever held it was not copied by `fork`


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class PatientFile(io.RawIOBase):
    """Writes to a descriptor, which it does not own."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.dropped_bytes = 0
        self._stuck = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def write(self, data: object) -> int:
        """Accept all of the text, even if parts are dropped later."""
        rest = memoryview(data).cast("B")  # type: ignore[arg-type]  # any buffer, as the base class says
        size = len(rest)
        try:
            while rest and (count := self._write_some(rest)):
                rest = rest[count:]
        except OSError:
            pass  # it is closed: counting is all that is left to do
        self.dropped_bytes += len(rest)
        self._stuck = bool(rest)
        return size

    def _write_some(self, data: memoryview) -> int:
        with _turn:
            if not _has_room(self._fd, seconds=0.0 if self._stuck else PATIENCE):
                return 0
            return os.write(self._fd, data[:PIECE])


def claim_stderr(fd: int) -> None:
    """Send all of Python's own output to standard error through a `PatientFile`."""
    former = sys.stderr
    if former is None or not _is_plain(former, fd):
        return  # somebody put something else there (a test, a debugger): it is theirs
    former.flush()
    buffer = io.BufferedWriter(PatientFile(fd))
    sys.stderr = io.TextIOWrapper(
        buffer, encoding=former.encoding, errors="backslashreplace", line_buffering=True
    )
    _move_log_handlers(former, sys.stderr)


def _is_plain(stream: object, fd: int) -> bool:
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # an unbuffered Python has no layer in between
    return isinstance(raw, io.FileIO) and raw.fileno() == fd


def _move_log_handlers(former: object, stream: io.TextIOWrapper) -> None:
    logging = sys.modules.get("logging")
    if logging is None:  # then nobody can have set one up
        return
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    for handler in (handler for logger in loggers for handler in getattr(logger, "handlers", ())):
        if getattr(handler, "stream", None) is former and hasattr(handler, "setStream"):
            handler.setStream(stream)


def _has_room(fd: int, *, seconds: float) -> bool:
    if os.name == "nt":
        return True
    from dragoman.transport.file_outlet import writable

    return writable(fd, seconds=seconds)
