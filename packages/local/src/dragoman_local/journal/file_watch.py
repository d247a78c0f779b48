"""Notices that a journal's file was deleted or replaced while it is open.

What is written then goes into a file that nobody finds again. So nothing more is written, and what the file
holds is saved while it is still open: under the journal's name if that is free, beside it if not.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from pathlib import Path
from typing import TypeAlias

from dragoman.errors import JournalGone
from dragoman.system.replacement import sync_file, sync_folder
from dragoman_local.journal.file_exchange import draft_folder, exchange, free_name

log = logging.getLogger(__name__)

Identity: TypeAlias = tuple[int, int] | None
"""Device and number of a file; None if it does not exist."""


class FileWatch:
    """Checks that the file at a path, and its log, are those that a connection has open."""

    def __init__(self, path: Path, *, interval: float) -> None:
        """`interval`: the seconds between two checks of the file."""
        self._paths = (path, Path(f"{path}-wal"))
        self._identities: list[Identity] = [None, None]
        self._interval = interval
        self._looked_at = 0.0
        self._error: JournalGone | None = None

    def start(self) -> None:
        """Remember the current files as the right ones."""
        self._identities = [_identity(path) for path in self._paths]

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise `JournalGone` if writes would be lost now; call it before a transaction begins."""
        if self._error is not None:
            raise self._error
        now = time.monotonic()
        if now - self._looked_at < self._interval:
            return
        self._looked_at = now
        if self._identities[1] is None:  # the log is made by the first transaction
            self._identities[1] = _identity(self._paths[1])
        if [_identity(path) for path in self._paths] != self._identities:
            self._error = JournalGone(self._save(connection))
            log.critical("%s", self._error)
            raise self._error

    def _save(self, connection: sqlite3.Connection) -> str:
        """Save the content of the open file; returns what happened and what to do."""
        path = self._paths[0]
        identity = _identity(path)
        try:
            if identity == self._identities[0]:
                connection.execute("pragma wal_checkpoint(full)").fetchall()
                sync_file(path)
                return f"{path}-wal was deleted while the journal was open. Nothing is lost: restart"
            with draft_folder(path) as folder:
                copy = folder / "draft"
                _copy(connection, copy)
                if identity is None:
                    exchange(path, copy, free_name(path, "deleted"))
                    return f"{path} was deleted while it was open. It is back, and complete: restart"
                rescued = free_name(path, "rescued")
                sync_file(copy)
                os.rename(copy, rescued)
                sync_folder(path.parent)
        except (OSError, sqlite3.Error) as error:
            return f"{path} was deleted or replaced while it was open, and cannot be saved: {error}"
        return (
            f"{path} was replaced while it was open. Its content is in {rescued}. Stop every program that "
            f"uses it; `dragoman journal restore --force --journal {path} {rescued}` puts it back"
        )


def _identity(path: Path) -> Identity:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _copy(connection: sqlite3.Connection, path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    copy = sqlite3.connect(path, isolation_level=None)
    try:
        connection.backup(copy)
        copy.execute("pragma journal_mode = delete")
    finally:
        copy.close()
