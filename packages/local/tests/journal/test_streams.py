"""Where a stream ends is remembered from one statement to the next, and never believed if it has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman_local.journal import Entry, sqlite_file, streams, tables

if TYPE_CHECKING:
    import sqlite3

ENTRY = Entry("to_client", b'{"jsonrpc":"2.0","method":"x"}', 1.0)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    sqlite_file.make_file(tmp_path / "j.db")
    connection = sqlite_file.connect(tmp_path / "j.db")
    tables.make_tables(connection)
    yield connection
    connection.close()


def append(connection: sqlite3.Connection, ends: dict[str, tables.StreamEnd], now: float) -> int:
    return streams.append(connection, "s", [ENTRY], after=None, redact=None, now=now, ends=ends)


def test_an_append_after_a_description_does_not_read_the_stream_again(
    connection: sqlite3.Connection,
) -> None:
    ends: dict[str, tables.StreamEnd] = {}
    append(connection, ends, 1.0)
    streams.describe(connection, "s", {"state": "running"}, now=2.0, ends=ends)
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    assert append(connection, ends, 2.5) == 2
    assert not [statement for statement in statements if statement.lower().startswith("select")]
    info = streams.info(connection, "s")
    assert info is not None
    assert (info.state, info.last, info.updated) == ("running", 2, 2.5)


def test_a_description_by_another_process_is_kept_by_the_next_append(connection: sqlite3.Connection) -> None:
    ends: dict[str, tables.StreamEnd] = {}
    append(connection, ends, 1.0)
    streams.describe(connection, "s", {"title": "by another"}, now=1.0)
    append(connection, ends, 1.5)
    info = streams.info(connection, "s")
    assert info is not None
    assert (info.title, info.last) == ("by another", 2)


def test_a_description_after_an_append_does_not_read_the_stream_again(connection: sqlite3.Connection) -> None:
    ends: dict[str, tables.StreamEnd] = {}
    append(connection, ends, 1.0)
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    known = streams.describe(connection, "s", {"state": "running", "title": "t"}, now=2.0, ends=ends)
    assert not [statement for statement in statements if statement.lower().startswith("select")]
    assert streams.info(connection, "s") == known
    assert (known.state, known.title, known.last, known.updated) == ("running", "t", 1, 2.0)


def test_what_another_process_has_written_is_kept_by_the_next_description(
    connection: sqlite3.Connection,
) -> None:
    ends: dict[str, tables.StreamEnd] = {}
    append(connection, ends, 1.0)
    streams.describe(connection, "s", {"title": "by another"}, now=1.0)
    append(connection, {}, 1.5)
    streams.describe(connection, "s", {"state": "idle"}, now=1.5, ends=ends)
    info = streams.info(connection, "s")
    assert info is not None
    assert (info.title, info.state, info.last) == ("by another", "idle", 2)
    assert append(connection, ends, 2.0) == 3


@pytest.mark.parametrize(("count", "inserts"), [(1, 1), (7, 1), (40, 1), (41, 2)])
def test_rows_of_one_append_take_one_statement_for_forty(
    connection: sqlite3.Connection, count: int, inserts: int
) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    entries = [Entry("to_client", ENTRY.frame, float(moment)) for moment in range(count)]
    assert streams.append(connection, "s", entries, after=None, redact=None, now=1.0) == count
    assert sum(statement.startswith("insert into entries") for statement in statements) == inserts
    page, damage = streams.page(connection, "s", 0, None)
    assert ([entry.time for entry in page], damage) == ([entry.time for entry in entries], None)
