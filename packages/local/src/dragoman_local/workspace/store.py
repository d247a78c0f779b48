"""A private folder for what a snapshot keeps, gone with its owner at the latest.

The stores of a process are in one folder, its home, which is locked as long as the process lives. Whoever
makes a home removes those whose lock is free: their owners were killed. So a store costs the same however
many others there are. Only the user can look into one.
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path

from dragoman.system.files import HAS_LOCKS, UNBLOCKED, try_lock

_LOCK = "lock"

BASE = "dragoman-snapshots"
"""What the names of folders full of stores begin with."""

MADE_WITHIN = 60.0
"""Seconds after which a home that has no name yet was not made, but left."""


class Store:
    """A folder of our own."""

    def __init__(self, base: str | None = None) -> None:
        key = (os.getpid(), Path(base) if base else _default_base())  # a fork has a home of its own
        with _guard:
            while True:
                home = _homes.get(key)
                if home is None:
                    home = _homes[key] = _Home(key[1])
                try:
                    self.path = home.add_store()
                    break
                except FileNotFoundError:  # somebody tidied up among the temporary files
                    del _homes[key]
        self._key = key
        self._home: _Home | None = home

    def close(self) -> None:
        """Remove it with all that is in it. Closing twice is fine."""
        with _guard:
            home, self._home = self._home, None
        if home is None:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        with _guard:
            home.store_count -= 1
            if not home.store_count:
                if _homes.get(self._key) is home:
                    del _homes[self._key]
                home.close()


class _Home:
    """The folder of all stores of this process."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._path = base / f"{os.getpid()}-{secrets.token_hex(6)}"
        self._numbers = itertools.count()
        self.store_count = 0
        # Locked before it has its name, or somebody might take it for abandoned.
        new_folder = self._path.with_suffix(".new")
        while True:
            _claim(base)
            remove_stale(base)
            try:
                new_folder.mkdir(mode=0o700)
                break
            except FileNotFoundError:  # whoever closed the last home has removed the folder meanwhile
                continue
        self._lock = os.open(new_folder / _LOCK, os.O_RDWR | os.O_CREAT | UNBLOCKED, 0o600)
        try_lock(self._lock)
        new_folder.rename(self._path)

    def add_store(self) -> Path:
        path = self._path / f"store{next(self._numbers)}"
        path.mkdir(mode=0o700)
        self.store_count += 1
        return path

    def close(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        os.close(self._lock)
        try:
            self._base.rmdir()
        except OSError:  # others have their homes here
            pass


_guard = threading.Lock()
_homes: dict[tuple[int, Path], _Home] = {}


def remove_abandoned() -> None:
    """Remove what killed processes of this user have left among the temporary files."""
    base = _default_base()
    try:
        _check(base)
        remove_stale(base)
        base.rmdir()
    except OSError:  # there is nothing, it is not ours, or homes are in use
        pass


def remove_stale(base: Path) -> None:
    """Remove homes whose owners are gone."""
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
