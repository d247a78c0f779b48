"""A private folder for what a snapshot keeps, gone with its owner at the latest.

Every store holds a lock on itself as long as its process lives. Whoever makes a new store removes those whose
lock is free: their owners were killed. Only the user can look into one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_LOCK = "lock"

BASE = "dragoman-snapshots"
"""What the names of folders full of stores begin with."""


class Store:
    """A folder of our own."""

    def __init__(self, base: str | None = None) -> None:
        self._base = Path(base) if base else _default_base()
        _claim(self._base)
        remove_stale(self._base)
        self.path = self._base / f"{os.getpid()}-{secrets.token_hex(6)}"
        # Locked before it has its name, or somebody might take it for abandoned.
        made = self.path.with_suffix(".new")
        made.mkdir(mode=0o700)
        self._lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _try_lock(self._lock)
        made.rename(self.path)

    def close(self) -> None:
        """Remove it with all that is in it. Closing twice is fine."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1
            try:
                self._base.rmdir()
            except OSError:  # others have their stores here
                pass


def remove_stale(base: Path) -> None:
    """Remove stores whose owners are gone."""
    for path in base.glob("*-*"):
        if path.suffix:  # being made just now, or killed in that moment: then it is empty
            continue
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # being removed by its owner
            continue
        try:
            if _try_lock(lock):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def _try_lock(fd: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _default_base() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"{BASE}-{user}"


def _claim(base: Path) -> None:
    """The folder of all stores. It must be ours: anybody can make one of that name in a shared folder."""
    try:
        base.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        status = base.lstat()
        mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        if not stat.S_ISDIR(status.st_mode) or not mine or status.st_mode & 0o077:
            raise PermissionError(f"{base} is not a private folder of this user") from None
