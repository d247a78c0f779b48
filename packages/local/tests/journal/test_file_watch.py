"""A journal whose file is deleted or replaced while it is open takes nothing more, and loses nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from dragoman.errors import JournalGone
from dragoman_local.journal import Journal, open_journal
from dragoman_local.journal.backup import restore
from dragoman_local.journal.contract import Durability
from tests.journal.streams import frames, note

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open")

WORDS = [b"1", b"2", b"3"]


async def refuse(journal: Journal, *, match: str) -> None:
    for _ in range(2):  # the first one notices it; the others know
        with pytest.raises(JournalGone, match=match):
            await journal.append("a", [note("lost")])
        with pytest.raises(JournalGone, match=match):
            await journal.describe("a", title="lost")


async def stored(path: Path) -> list[bytes]:
    async with open_journal(path) as journal:
        return await frames(journal, "a")


@pytest.mark.parametrize("companions", [("",), ("", "-wal", "-shm", "-lock")])
async def test_a_deleted_journal_is_put_back_and_takes_no_more(
    tmp_path: Path, companions: tuple[str, ...]
) -> None:
    path = tmp_path / "j.db"
    async with open_journal(path) as journal:
        await journal.append("a", [note(word) for word in WORDS])
        for companion in companions:
            os.unlink(f"{path}{companion}")
        await refuse(journal, match="It is back, and complete: restart")
        assert await stored(path) == WORDS, "also before the first one is closed"
    assert await stored(path) == WORDS
    assert path.stat().st_mode & 0o077 == 0


async def test_a_replaced_journal_is_saved_beside_the_new_file(tmp_path: Path) -> None:
    path, other = tmp_path / "j.db", tmp_path / "other.db"
    async with open_journal(other) as journal:
        await journal.append("b", [note("other")])
    async with open_journal(path) as journal:
        await journal.append("a", [note(word) for word in WORDS])
        os.replace(other, path)
        await refuse(journal, match=r"Its content is in .*j\.db\.rescued-")
    (rescued,) = tmp_path.glob("j.db.rescued-*")
    restore(rescued, path, replace=True)
    assert await stored(path) == WORDS


@pytest.mark.parametrize("happens", ["deleted", "replaced"])
async def test_readers_keep_the_file_that_was_opened(tmp_path: Path, happens: str) -> None:
    path, other = tmp_path / "j.db", tmp_path / "other.db"
    async with open_journal(other) as journal:
        await journal.append("a", [note("other")])
    async with open_journal(path) as journal:
        await journal.append("a", [note(word) for word in WORDS])
    async with open_journal(path) as journal:  # nothing is left in the log
        if happens == "deleted":
            for companion in ("", "-wal", "-shm"):
                os.unlink(f"{path}{companion}")
        else:
            os.replace(other, path)
        assert await asyncio.gather(*[frames(journal, "a") for _ in range(8)]) == [WORDS] * 8
        assert await journal.find_key("a", "none") is None, "read in the thread of the caller"


async def test_what_is_in_a_log_that_was_deleted_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with open_journal(path) as journal:
        await journal.append("a", [note(word) for word in WORDS])
        os.unlink(f"{path}-wal")
        await refuse(journal, match="Nothing is lost: restart")
        copy = tmp_path / "killed" / "j.db"  # as a kill would leave it
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes())
        assert await stored(copy) == WORDS


@pytest.mark.parametrize("durability", ["normal", "off"])
async def test_it_is_noticed_whatever_the_durability(tmp_path: Path, durability: Durability) -> None:
    path = tmp_path / "j.db"
    async with open_journal(path, durability=durability) as journal:
        await journal.append("a", [note(word) for word in WORDS])
        path.unlink()
        journal._watch._looked_at = -1.0  # a second later
        await refuse(journal, match="It is back")


async def test_a_journal_that_cannot_be_saved_says_so_and_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "j.db"
    async with open_journal(path) as journal:
        await journal.append("a", [note(word) for word in WORDS])
        (tmp_path / "folder").rename(tmp_path / "elsewhere")
        await refuse(journal, match="cannot be saved: .*No such file")
    assert await stored(tmp_path / "elsewhere" / "j.db") == WORDS
