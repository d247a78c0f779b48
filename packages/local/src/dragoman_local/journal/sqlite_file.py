"""Opens the journal's file: checks its owner and permissions, and sets how safe a commit is.

The file and its folder are for their owner's eyes. Whoever has the journal open holds a shared lock on a
file beside it, so that a damaged journal is set aside only when nobody else writes into it. The lock is not
on the journal itself: closing any descriptor of a file drops SQLite's own locks on it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from dragoman.errors import JournalBusy, JournalDamaged, JournalError, JournalFull, NotAJournal
from dragoman.system.files import share, try_lock
from dragoman.system.replacement import sync_folder
from dragoman_local.journal.contract import Durability
from dragoman_local.journal.tables import make_tables, version

BUSY_SECONDS = 10.0
"""The seconds that a writer waits for another process: longer than any commit, shorter than a person's
patience.
"""

PAUSE_SECONDS = 0.01
"""The seconds between two checks of a file that another process is just creating."""

CACHE_KIB = 8 * 1024
"""The most memory of the writer for the file: the ends of a thousand streams in use take five megabytes. A
larger cache would be filled by one session and never freed.
"""

SYNCHRONOUS: dict[Durability, str] = {"full": "full", "normal": "normal", "off": "off"}


class FolderLock:
    """The lock beside a journal: shared while it is open, exclusive while it is moved aside."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}-lock")
        self._descriptor: int | None = None

    def share(self) -> None:
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o600)
        share(self._descriptor)

    def try_exclusive(self) -> bool:
        """Make the lock exclusive, if no other process shares it; return whether it is."""
        # On Windows, a file that somebody has open cannot be moved away anyhow.
        return self._descriptor is not None and (sys.platform == "win32" or try_lock(self._descriptor))

    def share_again(self) -> None:
        if self._descriptor is not None:
            share(self._descriptor)

    def forget(self) -> None:
        """Delete the lock file: the file beside it is not a journal."""
        self.path.unlink(missing_ok=True)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def make_file(path: Path) -> None:
    """Create the folder and the file, if they do not exist, for their owner only."""
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600))
    except FileExistsError:
        return  # not to be opened here: closing it would drop the locks of a connection that we may have
    sync_folder(path.parent)


def close_to_others(path: Path) -> None:
    """Remove other users' read permission, which an older or another program may have left."""
    if path.stat().st_mode & 0o077 and sys.platform != "win32":
        path.chmod(0o600)


def connect_writer(
    path: Path, durability: Durability, busy_seconds: float, *, pause: Callable[[float], object] = time.sleep
) -> sqlite3.Connection:
    """Connect to a journal of this version; other files are left unchanged."""
    connection = connect(path, busy_seconds)
    try:
        version(connection)
        _write_ahead(connection, busy_seconds, pause)
        connection.execute(f"pragma synchronous = {SYNCHRONOUS[durability]}")
        connection.execute(f"pragma fullfsync = {int(durability == 'full')}")  # macOS syncs only if asked so
        connection.execute("pragma secure_delete = on")  # what is deleted is gone
        if durability == "full":  # a hub's; a history of one conversation needs none of it
            connection.execute(f"pragma cache_size = -{CACHE_KIB}")
        make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(
    connection: sqlite3.Connection, busy_seconds: float, pause: Callable[[float], object]
) -> None:
    """Turn on the log. SQLite reads the file before it locks it for this, and whoever has read is not made to
    wait for a lock but refused at once: of two processes that make a file together, one has to ask again.
    """
    until = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        pause(PAUSE_SECONDS)


def connect_reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    connection = connect(path, busy_seconds)
    connection.execute("pragma query_only = on")
    return connection


def connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=rw"  # one that was deleted is not made again by whoever reads
    connection = sqlite3.connect(
        address, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    # Text that is damaged shall fail its own row's checksum, and not the whole query.
    connection.text_factory = lambda stored: stored.decode(errors="replace")
    return connection


Refusal: TypeAlias = sqlite3.Error | OSError | UnicodeDecodeError
"""The exceptions of SQLite. The last comes from messages that quote damaged text."""


def is_damage(error: Refusal) -> bool:
    """Whether this reason means that a journal file is damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, UnicodeDecodeError)
    if "no such module" in str(error):
        return False  # it is the SQLite of this machine that lacks the index of words
    # A plain error means that the names of tables and columns are not what we made.
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def without_memory() -> JournalError:
    """Return the error for missing memory, which is handled like a full disk: nothing is stored, and a retry
    may succeed.
    """
    return JournalFull("there is too little memory for what is to be stored")


def explain(error: Refusal, path: Path) -> JournalError:
    """Return the journal error for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    base = None if code is None else code & 0xFF
    if base == sqlite3.SQLITE_FULL:
        return JournalFull(f"{path}: no room is left for the journal")
    if base in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalBusy(f"{path}: another process is using the journal")
    if base == sqlite3.SQLITE_NOTADB:
        return NotAJournal(f"{path} is not a journal, or its beginning is damaged")
    if base == sqlite3.SQLITE_CORRUPT or isinstance(error, UnicodeDecodeError):
        return JournalDamaged(f"{path} is damaged; `dragoman sessions repair` saves what can be read")
    return JournalError(f"{path}: {error}")
