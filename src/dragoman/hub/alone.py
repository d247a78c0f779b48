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
from dragoman.system.files import try_lock


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Raises `LocalMistake` if another hub is there."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not try_lock(descriptor):
            raise LocalMistake(_taken(folder, descriptor))
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def _taken(folder: Path, descriptor: int) -> str:
    holder = os.read(descriptor, 20).decode(errors="replace")
    who = f"another hub (process {holder})" if holder.isdigit() else "another hub"
    return f"{who} keeps its sessions in {folder.parent} already: end it, or use another folder"
