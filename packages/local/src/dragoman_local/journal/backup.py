"""Backs up a journal's file while it is in use, and restores it.

A backup is the file as of one moment, page for page: a sealed journal stays sealed, and nobody needs its
key. It appears under its name when it is whole and was examined, with the mode of the original. What is put
back is examined first; the journal that was there is kept beside it, and a kill at any moment loses neither
(see `file_exchange`). A journal that somebody has open is not replaced.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dragoman.errors import JournalBusy, JournalDamaged, JournalError, NotAJournal
from dragoman.system.replacement import PRIVATE, replacement_of
from dragoman_local.journal.file_exchange import draft_folder, exchange, free_name, recover, successor_of
from dragoman_local.journal.sqlite_file import BUSY_SECONDS, FolderLock
from dragoman_local.journal.tables import version

PAGES = 1000
"""The pages to copy at once, so that others can write in between."""


class JournalBackup(Struct, frozen=True, kw_only=True):
    """The result of a backup."""

    source: str
    target: str
    streams: int
    bytes: int
    replaced: str = ""
    """The place of the replaced journal."""


def back_up(source: Path, target: Path, *, replace: bool = False) -> JournalBackup:
    """Copy a journal that may be in use. Raises `JournalError`, `FileExistsError` or `OSError`."""
    if not source.is_file():
        raise JournalError(
            f"no journal file {source}. The hub creates it at its first start; name another with --journal"
        )
    if successor_of(source) is not None:
        raise JournalError(f"the repair of {source} was interrupted: `dragoman sessions` finishes it")
    if target.exists() and not replace:
        raise FileExistsError(17, "File exists", str(target))
    with _new_file(target, mode=source.stat().st_mode & 0o700) as copy:
        streams = _copy(source, copy)
    return JournalBackup(source=str(source), target=str(target), streams=streams, bytes=target.stat().st_size)


def restore(source: Path, target: Path, *, replace: bool = False) -> JournalBackup:
    """Replace a journal by a backup. Raises `JournalError`, `FileExistsError` or `OSError`."""
    if not source.is_file():
        raise JournalError(f"there is no backup {source}")
    if target.exists() and not replace:
        raise FileExistsError(17, "File exists", str(target))
    target.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    with _alone(target), draft_folder(target) as folder:
        streams = _copy(source, folder / "draft")
        os.chmod(folder / "draft", (target.stat().st_mode & 0o700 if target.exists() else 0) or PRIVATE)
        kept = free_name(target, "before-restore")
        exchange(target, folder / "draft", kept)
    return JournalBackup(
        source=str(source),
        target=str(target),
        streams=streams,
        bytes=target.stat().st_size,
        replaced=str(kept) if kept.exists() else "",
    )


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock that everybody shares who has the journal open."""
    lock = FolderLock(path)
    lock.share()
    try:
        recover(path, lock, within=BUSY_SECONDS)
        if not lock.try_exclusive():
            raise JournalBusy(
                f"{path} is open in another process: stop the hub and every other program that uses it"
            )
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _new_file(target: Path, *, mode: int) -> Iterator[Path]:
    """A file that takes the place of `target` when the block ends well; SQLite leaves nothing beside it."""
    with replacement_of(target, mode=mode or PRIVATE) as copy:
        try:
            yield copy
        finally:
            for end in ("-wal", "-shm", "-journal"):
                Path(f"{copy}{end}").unlink(missing_ok=True)


def _copy(source: Path, copy: Path) -> int:
    """Copy every page and examine the copy; returns how many streams it has."""
    try:
        with (
            contextlib.closing(
                sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
            ) as from_file,
            contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as to_file,
        ):
            if version(from_file) == 0:
                raise NotAJournal(f"{source} is not a journal: it is empty")
            from_file.backup(to_file, pages=PAGES)
            to_file.execute("pragma journal_mode = delete")  # one file, without a log beside it
            (verdict,) = to_file.execute("pragma quick_check(1)").fetchone()
            if verdict != "ok":
                raise JournalDamaged(
                    f"{source} is damaged: {verdict}; `dragoman sessions repair` saves the rest"
                )
            return int(to_file.execute("select count(*) from streams").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise NotAJournal(f"{source} cannot be read as a journal: {error}") from None
