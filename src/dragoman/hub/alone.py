"""One hub at a time in a folder: two would take each other's agents and write over each other's sessions.

The lock is the system's, on an open file: it ends with the process that holds it, however that ends, and
keepers and agents do not inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import LocalMistake


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Raises `LocalMistake` if another hub is there."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks, and no keepers either
        yield
        return
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LocalMistake(_taken(folder, descriptor)) from None
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _taken(folder: Path, descriptor: int) -> str:
    holder = os.pread(descriptor, 20, 0).decode(errors="replace")
    who = f"another hub (process {holder})" if holder.isdigit() else "another hub"
    return f"{who} keeps its sessions in {folder.parent} already: end it, or use another folder"
