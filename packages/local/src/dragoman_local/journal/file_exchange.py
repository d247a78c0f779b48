"""Replaces a journal's file by a new one, without loss if the process is killed at any time.

The new file is built in a folder beside the journal whose name says that it is unfinished: whoever opens the
journal next removes it. When it is complete and on the disk it gets a name that says what is to follow: the
old file with its log is kept under another name, and the new one takes its place. That name is the point of
no return. A process that dies behind it leaves the rest to whoever opens the journal next.

Whoever builds or exchanges holds the journal's lock alone; whoever opens it shares the lock.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import JournalBusy, JournalDamaged
from dragoman.system.replacement import sync_file, sync_folder
from dragoman_local.journal.sqlite_file import PAUSE_SECONDS, FolderLock

COMPANIONS = ("", "-wal", "-shm")


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """Create a folder for building a journal's successor; it is removed after the block, or after a kill when
    the journal is next opened.
    """
    with tempfile.TemporaryDirectory(prefix=_unfinished(path), dir=path.parent) as folder:
        yield Path(folder)


def free_name(path: Path, purpose: str) -> Path:
    """Return a free name beside a journal for keeping it."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    for count in range(1_000):
        kept = path.with_name(f"{path.name}.{purpose}-{stamp}{f'-{count}' if count else ''}")
        if not any(Path(f"{kept}{end}").exists() for end in COMPANIONS):
            return kept
    raise JournalDamaged(f"too many files {path.name}.{purpose}-… are beside it: move them away")


def exchange(path: Path, draft: Path, kept: Path) -> None:
    """Keep the journal as `kept`, and put the complete draft in its place."""
    sync_file(draft)
    os.rename(draft, path.with_name(_ready(path) + kept.name.removeprefix(f"{path.name}.")))
    sync_folder(path.parent)
    _finish(path)


def successor_of(path: Path) -> Path | None:
    """Return the file that will replace a journal, if a process was killed before that."""
    return next(_beside(path, _ready(path)), None)


def recover(path: Path, lock: FolderLock, *, within: float) -> None:
    """Finish an interrupted exchange, and remove abandoned drafts. The lock is shared before and after this
    call.
    """
    until = time.monotonic() + within
    while successor_of(path) is not None:
        # One that fails gives up our share too, so that of two who try this at once one succeeds.
        if lock.try_exclusive():
            _finish(path)
        elif time.monotonic() > until:
            raise JournalBusy(
                f"{path} has to be put in order first, and another process has it open: stop it"
            )
        else:
            time.sleep(PAUSE_SECONDS)
    lock.share_again()
    for draft in list(_beside(path, _unfinished(path))):
        shutil.rmtree(draft, ignore_errors=True)


def _finish(path: Path) -> None:
    """Do what is left of an exchange; the lock is ours alone."""
    while (ready := successor_of(path)) is not None:
        kept = path.with_name(f"{path.name}.{ready.name.removeprefix(_ready(path))}")
        if path.exists() and kept.exists():  # somebody has begun another journal after the kill
            kept = free_name(path, "set-aside")
        for end in reversed(COMPANIONS):  # a log never stands beside a file that is not its own
            if Path(f"{path}{end}").exists():
                os.replace(f"{path}{end}", f"{kept}{end}")
        sync_folder(path.parent)
        os.replace(ready, path)
        sync_folder(path.parent)


def _beside(path: Path, prefix: str) -> Iterator[Path]:
    return (path.with_name(name) for name in sorted(os.listdir(path.parent)) if name.startswith(prefix))


def _unfinished(path: Path) -> str:
    return f".{path.name}.unfinished-"


def _ready(path: Path) -> str:
    return f".{path.name}.ready-"
