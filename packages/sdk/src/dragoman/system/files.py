"""Differences between operating systems in opening and locking files.

A lock belongs to an open file. Closing the descriptor gives it back, and so does the end of the process:
nobody needs to unlock. Whoever waits for a lock waits in the calling thread; holders keep it for the length
of a few system calls.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO, Final

# Each is declared for its own system alone, so a type checker knows only one of them.
fcntl: Any = None
msvcrt: Any = None
with suppress(ImportError):
    fcntl = import_module("fcntl")
with suppress(ImportError):
    msvcrt = import_module("msvcrt")

HAS_LOCKS: Final = fcntl is not None or msvcrt is not None
"""Whether files can be locked. Without locks, `try_lock` always succeeds and proves nothing about other
processes.
"""

# On Windows a file is binary only if that is said, and a child inherits nothing that is not handed to it.
UNBLOCKED: Final[int] = (
    getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
"""Flags for opening a file without waiting, even a pipe without a writer; no child inherits it."""

CAREFUL: Final[int] = UNBLOCKED | getattr(os, "O_NOFOLLOW", 0)
"""The same flags, and refuse a link in place of the file."""

_FAR: Final = 0x7FFF_FFF0
"""Where Windows locks a byte: behind what files hold, since nobody else can read a locked byte there."""

_PAUSE: Final = 0.01


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read it. Anything else at the path is refused with an `OSError`: opening a pipe without
    a writer would wait for ever, and a device might never end.
    """
    descriptor = os.open(path, os.O_RDONLY | UNBLOCKED)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return open(descriptor, "rb")


def lock(descriptor: int) -> None:
    """Lock the file; wait while another process has it locked."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while not try_lock(descriptor):
        time.sleep(_PAUSE)


def try_lock(descriptor: int) -> bool:
    """Lock the file if no other process has; return whether it is locked."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            position = os.lseek(descriptor, 0, os.SEEK_CUR)
            try:
                os.lseek(descriptor, _FAR, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, position, os.SEEK_SET)
    except OSError:
        return False
    return True


def share(descriptor: int) -> None:
    """Lock the file together with other readers; no process can lock it exclusively in the meantime.

    Windows has no such lock; there, a file that is open can be neither moved nor removed, which is what
    sharers want to prevent.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
