"""Shows other processes that a turn is running in a session, as long as this process lives.

The lease is a lock on a file beside the journal. The system drops it with the process, however that ends,
so a lease never has to expire. It does not guard the journal, whose appends guard themselves
(`StreamMoved`); it keeps somebody who loads the session elsewhere from taking a turn that runs for one that
was cut short.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from dragoman.system.files import try_lock


class SessionFileLock:
    """The lock of one session. Without a folder (a journal in memory) there is no other process, and it is
    always granted.
    """

    def __init__(self, folder: Path | None, stream: str) -> None:
        name = hashlib.sha256(stream.encode(errors="replace")).hexdigest()[:32]
        self._path = None if folder is None else folder / name
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock; return False if another holder has it."""
        if self._path is None or self._descriptor is not None:
            return True
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            if not try_lock(descriptor):
                os.close(descriptor)
                return False
            if _is_file(descriptor, self._path):
                self._descriptor = descriptor
                return True
            os.close(descriptor)  # whoever held it has removed the file meanwhile: ours is no longer the one

    def drop(self) -> None:
        if self._descriptor is not None and self._path is not None:
            if sys.platform != "win32":  # there, a file that is open cannot be removed
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def is_held_elsewhere(self) -> bool:
        """Whether a turn is running in this session, in another process or another connection of this one."""
        if self._path is None or self._descriptor is not None or not self._path.exists():
            return False
        free = self.take()
        self.drop()
        return not free


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        path_stat = path.stat()
    except FileNotFoundError:
        return False
    open_stat = os.fstat(descriptor)
    return (path_stat.st_ino, path_stat.st_dev) == (open_stat.st_ino, open_stat.st_dev)
