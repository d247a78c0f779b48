"""The three pipes of a child process, made before it starts.

Imports nothing that takes long: a program is started before the rest of our code is loaded (see
`program_start`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from dragoman.errors import SpawnFailed

PIPE_SIZE = 256 * 1024


def open_pipes() -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return our ends and the child's ends of its three standard descriptors."""
    fds: list[int] = []
    try:
        while len(fds) < 6:
            fds += os.pipe()
    except OSError as error:
        close_all(fds)
        raise SpawnFailed(
            f"cannot start a program: {error.strerror}; close some, or raise `ulimit -n`"
        ) from error
    their_in, our_in, our_out, their_out, our_err, their_err = fds
    widen(our_in)
    widen(our_out)
    if os.name != "nt":  # there, threads do the waiting
        for fd in (our_in, our_out, our_err):
            # We made these, and each end of a pipe has flags of its own: the child's ends still block.
            os.set_blocking(fd, False)
    return (our_in, our_out, our_err), (their_in, their_out, their_err)


def widen(fd: int) -> None:
    """Enlarge a pipe for several blocks, so that both ends can work at the same time. No more: the system
    gives a user with many large pipes only very small ones.
    """
    if sys.platform == "linux":
        with suppress(ImportError, OSError):  # no more to be had; it works as it is
            import fcntl

            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)


def close_all(fds: Sequence[int]) -> None:
    """Close these descriptors."""
    for fd in fds:
        os.close(fd)
