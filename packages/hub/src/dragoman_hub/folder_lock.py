"""The lock on a hub's folder: it allows one hub at a time, and shows commands that a hub is running."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.system.files import HAS_LOCKS, try_lock


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let only one hub run in a folder: two would use each other's agents and overwrite each other's
    sessions. Raises `LocalMistake` if another hub runs there. The lock ends with this process; agent hosts do
    not inherit it.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not try_lock(descriptor):
            raise LocalMistake(
                f"another {_holder(descriptor)} keeps its sessions in {folder.parent} already: "
                "end it, or use another folder"
            )
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def running_hub(journal: Path) -> str:
    """Describe the hub that runs beside this journal, for people; empty if none does."""
    for path in journal.absolute().parent.glob("hub*/lock") if HAS_LOCKS else ():
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:  # gone, or somebody else's
            continue
        try:
            if not try_lock(descriptor):
                return _holder(descriptor)
        finally:
            os.close(descriptor)
    return ""


def _holder(descriptor: int) -> str:
    holder = os.read(descriptor, 20).decode(errors="replace")
    return f"hub (process {holder})" if holder.isdigit() else "hub"
