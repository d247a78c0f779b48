"""Originals of pending entries on disk: apart from the stream, sealed where it is, and gone when dropped."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dragoman_local.journal import Entry, SqliteJournal, open_journal, open_sealed
from tests.journal.streams import all_bytes, frames

pytestmark = pytest.mark.bound(30)

SECRET = b"sk-" + b"M4n5" * 6
KEY = bytes(range(32))


def asked(size: int = 0) -> Entry:
    frame = b'{"id":1,"method":"fs/write_text_file","params":{"content":"%b"}}' % (SECRET + b" x" * size)
    return Entry("to_client", frame, 5.0, True)


def opened(path: Path, *, sealed: bool = False) -> SqliteJournal:
    return open_sealed(path, KEY, durability="normal") if sealed else open_journal(path, durability="normal")


@pytest.mark.parametrize("size", [0, 100_000], ids=["small", "large"])
@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
async def test_a_dropped_original_is_gone_from_all_files_while_the_journal_is_open(
    tmp_path: Path, sealed: bool, size: int
) -> None:
    async with opened(tmp_path / "j.db", sealed=sealed) as journal:
        await journal.append("a", [asked(size), Entry("note", b"between", 6.0), asked(size)])
        assert set(await journal.originals("a")) == {1, 3}
        await journal.drop_originals("a", [1, 3])
        assert await journal.originals("a") == {}
        assert SECRET not in all_bytes(tmp_path)
        assert not any(SECRET in frame for frame in await frames(journal, "a"))


async def test_an_original_outlives_the_process_and_is_in_clear_only_where_the_journal_is(
    tmp_path: Path,
) -> None:
    for sealed in (False, True):
        path = tmp_path / str(sealed) / "j.db"
        async with opened(path, sealed=sealed) as journal:
            await journal.append("a", [asked()])
        assert (SECRET in path.read_bytes()) is not sealed
        assert path.stat().st_mode & 0o077 == 0
        async with opened(path, sealed=sealed) as journal:
            assert await journal.originals("a") == {1: asked().frame}


async def test_an_original_that_was_changed_on_disk_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with opened(path) as journal:
        await journal.append("a", [asked(), asked()])
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("update originals set frame = replace(frame, 'write', 'chmod') where place % 2 = 1")
    async with opened(path) as journal:
        assert await journal.originals("a") == {2: asked().frame}
