"""A private folder for what a snapshot keeps, gone with its owner at the latest.

Every store holds a lock on itself as long as its process lives. Whoever makes a new store removes those whose
lock is free: their owners were killed. Only the user can look into one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
import time
from pathlib import Path

from dragoman.system.files import HAS_LOCKS, UNBLOCKED, try_lock

_LOCK = "lock"

BASE = "dragoman-snapshots"
"""What the names of folders full of stores begin with."""

MADE_WITHIN = 60.0
"""Seconds after which a store that has no name yet was not made, but left."""


class Store:
    """A folder of our own."""

    def __init__(self, base: str | None = None) -> None:
        self._base = Path(base) if base else _default_base()
        self.path = self._base / f"{os.getpid()}-{secrets.token_hex(6)}"
        # Locked before it has its name, or somebody might take it for abandoned.
        new_folder = self.path.with_suffix(".new")
        while True:
            _claim(self._base)
            remove_stale(self._base)
            try:
                new_folder.mkdir(mode=0o700)
                break
            except FileNotFoundError:  # whoever closed the last store has removed the folder meanwhile
                continue
        self._lock = os.open(new_folder / _LOCK, os.O_RDWR | os.O_CREAT | UNBLOCKED, 0o600)
        try_lock(self._lock)
        new_folder.rename(self.path)

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


def remove_abandoned() -> None:
    """Remove what killed processes of this user have left among the temporary files."""
    base = _default_base()
    try:
        _check(base)
        remove_stale(base)
        base.rmdir()
    except OSError:  # there is nothing, it is not ours, or stores are in use
        pass


def remove_stale(base: Path) -> None:
    """Remove stores whose owners are gone."""
    for path in base.glob("*-*"):
        if path.suffix and not _is_old(path):  # being made just now
            continue
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | UNBLOCKED)
        except OSError:  # being removed by its owner, or killed before it had a lock
            if path.suffix:
                shutil.rmtree(path, ignore_errors=True)
            continue
        try:
            if HAS_LOCKS and try_lock(lock):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > MADE_WITHIN
    except OSError:  # it has its name by now
        return False


def _default_base() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"{BASE}-{user}"


def _claim(base: Path) -> None:
    """The folder of all stores. It must be ours: anybody can make one of that name in a shared folder."""
    try:
        base.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        _check(base)


def _check(base: Path) -> None:
    status = base.lstat()
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    if not stat.S_ISDIR(status.st_mode) or not mine or status.st_mode & 0o077:
        raise PermissionError(f"{base} is not a private folder of this user")
