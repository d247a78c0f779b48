"""What a file says of itself, while somebody else is making it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from dragoman_local.journal import sqlite_file, tables


class Interrupted:
    """A connection behind whose first question another one makes the journal, if it is let."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite_file.connect(path)
        self._asked = False

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str) -> Any:
        found = self._connection.execute(statement)
        if "application_id" not in statement or self._asked:
            return found
        self._asked = True
        row = found.fetchone()
        self._make()
        return Answered(row)

    def _make(self) -> None:
        other = sqlite_file.connect(self._path, 0.0)
        try:
            tables.make_tables(other)
        except sqlite3.OperationalError:
            pass  # it has to wait until we have read
        finally:
            other.close()

    def close(self) -> None:
        self._connection.close()


class Answered:
    def __init__(self, row: Any) -> None:
        self._row = row

    def fetchone(self) -> Any:
        return self._row


def test_a_journal_that_is_just_being_made_is_taken_for_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    sqlite_file.make_file(path)
    connection: Any = Interrupted(path)
    assert tables.version(connection) in (0, tables.VERSION)
    assert not connection.in_transaction
    connection.close()


def test_every_column_of_a_file_is_named(tmp_path: Path) -> None:
    """Each of them is looked at when a file is opened."""
    sqlite_file.make_file(tmp_path / "j.db")
    connection = sqlite_file.connect(tmp_path / "j.db")
    tables.make_tables(connection)
    query = "select name from sqlite_master where type = 'table' and name not like 'words%'"
    names = [name for (name,) in connection.execute(query) if not name.startswith("sqlite_")]
    columns = {
        name: ", ".join(row[1] for row in connection.execute(f"pragma table_info({name})")) for name in names
    }
    connection.close()
    assert columns == tables.COLUMNS
