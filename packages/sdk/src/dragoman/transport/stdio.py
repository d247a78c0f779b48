"""This process's standard input and output as a transport, protected from stray prints and other readers.

On stdio the protocol and every stray `print` share one descriptor, and one stray line breaks the
conversation. `claim_stdio` moves the protocol to private descriptors and leaves behind, in the old places,
an empty input and a catcher: what Python code, C libraries or child processes write to standard output is
passed on to standard error, and counted; the sum is logged at the end. Call it before user code is imported;
until then this module imports nothing but the standard library.

The catcher never holds a writer up for long: if standard error is stuck or closed, what was caught is
dropped, and counted too. The same then holds for what Python itself writes to standard error (see `patient`).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from dragoman.transport.patient import PATIENCE, PatientFile, claim_stderr

if TYPE_CHECKING:
    from dragoman.transport.contract import TransportLimits
    from dragoman.transport.pipe import PipeTransport

STDIN, STDOUT, STDERR = 0, 1, 2

NOTICE = b"dragoman: standard output belongs to the protocol; what was written to it is shown here instead\n"


class Stdio:
    """The reserved descriptors, and the stray output since then."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.caught_bytes = 0
        self.caught_lines = 0
        self.stderr_file = PatientFile(STDERR)

    @property
    def dropped_bytes(self) -> int:
        """The bytes of stray output that could not be shown."""
        return self.stderr_file.dropped_bytes

    def open(self, *, limits: TransportLimits | None = None) -> PipeTransport:
        """Return the transport over the reserved descriptors; it owns them, so there is only one."""
        from dragoman.transport.contract import DEFAULT_LIMITS
        from dragoman.transport.pipe import PipeTransport

        return PipeTransport(self.read_fd, self.write_fd, limits=limits or DEFAULT_LIMITS)


_claim: Stdio | None = None


def claim_stdio() -> Stdio:
    """Reserve standard input and output for the protocol, once in a process; later calls return the same
    object.
    """
    global _claim
    if _claim is None:
        _occupy_standard_places()
        _claim = Stdio(os.dup(STDIN), os.dup(STDOUT))  # private: not inherited by children
        _leave_nothing_to_read()
        _catch_output(_claim)
        claim_stderr(STDERR)
    return _claim


def _occupy_standard_places() -> None:
    """A closed standard descriptor would be the next one handed out, and be mistaken for the wire or for
    stderr.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= STDERR:
        os.set_inheritable(fd, True)
        fd = os.open(os.devnull, os.O_RDWR)
    os.close(fd)


def _leave_nothing_to_read() -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, STDIN)
    os.close(null)


def _catch_output(claim: Stdio) -> None:
    caught, catcher = os.pipe()
    os.dup2(catcher, STDOUT)
    os.close(catcher)
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # so that what is printed shows up when it is printed
    thread = threading.Thread(target=_forward, args=(caught, claim), name="stdout catcher", daemon=True)
    thread.start()
    atexit.register(_let_go, thread, claim)


def _forward(caught: int, claim: Stdio) -> None:
    while chunk := os.read(caught, 65536):
        if not claim.caught_bytes:
            claim.stderr_file.write(NOTICE)
        claim.caught_bytes += len(chunk)
        claim.caught_lines += chunk.count(b"\n")
        claim.stderr_file.write(chunk)
    os.close(caught)


def _let_go(catcher: threading.Thread, claim: Stdio) -> None:
    """At exit the catcher's thread stops running: standard output becomes standard error, and what is
    caught is shown.
    """
    with contextlib.suppress(OSError, ValueError):
        if sys.stdout is not None:
            sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.dup2(STDERR, STDOUT)
    catcher.join(timeout=2 * PATIENCE)  # a child that still holds the old descriptor must not hold us
    if claim.caught_bytes:
        import logging  # not before: see the top of this module

        logging.getLogger(__name__).warning(
            "kept %d bytes (%d lines) on standard output away from the protocol; %d of them were not shown",
            claim.caught_bytes,
            claim.caught_lines,
            claim.dropped_bytes,
        )
