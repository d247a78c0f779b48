"""Opening the journal's file while others are at it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dragoman.errors import JournalBusy
from dragoman_local.journal import open_journal
from dragoman_local.journal.sqlite_file import connect_writer, make_file
from dragoman_local.journal.tables import VERSION, version


def making(path: Path) -> sqlite3.Connection:
    """Another process, in the middle of making the file: it can be read, and SQLite lets nobody wait."""
    make_file(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    return other


def test_whoever_opens_a_file_that_another_is_making_waits_for_it(tmp_path: Path) -> None:
    other = making(tmp_path / "j.db")
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            other.execute("rollback")

    connection = connect_writer(tmp_path / "j.db", "full", 60.0, pause=pause)
    assert len(waited) == 3
    assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    assert version(connection) == VERSION
    connection.close()
    other.close()


async def test_one_that_is_never_finished_is_reported_in_time(tmp_path: Path) -> None:
    other = making(tmp_path / "j.db")
    with pytest.raises(JournalBusy):
        async with open_journal(tmp_path / "j.db", busy_seconds=0.05):
            pass
    other.close()
