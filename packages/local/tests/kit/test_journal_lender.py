"""Where sessions are kept: opened once, closed after the last user."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.errors import JournalClosed, NotAJournal
from dragoman_local.journal import MemoryJournal, SqliteJournal
from dragoman_local.kit.journal_lender import JournalLender, sessions_path


async def test_all_who_borrow_get_the_same_journal_and_the_last_one_closes_it(tmp_path: Path) -> None:
    shelf = JournalLender(tmp_path / "s.db", agent="a")
    one, other = await asyncio.gather(shelf.borrow(), shelf.borrow())
    assert one is other
    await shelf.give_back()
    await one.append("s", [])
    await shelf.give_back()
    with pytest.raises(JournalClosed):
        await one.append("s", [])
    again = await shelf.borrow()
    assert again is not one
    await shelf.give_back()


async def test_a_journal_that_was_given_stays_open() -> None:
    journal = MemoryJournal()
    shelf = JournalLender(journal, agent="a")
    assert await shelf.borrow() is journal
    await shelf.give_back()
    await journal.append("s", [])
    assert shelf.leases is None


async def test_what_cannot_be_opened_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"no journal at all, " * 100)
    shelf = JournalLender(path, agent="a")
    with pytest.raises(NotAJournal):
        await shelf.borrow()
    path.unlink()
    await shelf.borrow()
    await shelf.give_back()


def test_leases_lie_beside_the_journal(tmp_path: Path) -> None:
    assert JournalLender(tmp_path / "s.db", agent="a").leases == tmp_path / "s.db-turns"
    assert JournalLender(SqliteJournal(tmp_path / "t.db"), agent="a").leases == tmp_path / "t.db-turns"


def test_the_usual_place_is_beside_the_history() -> None:
    assert sessions_path({"XDG_DATA_HOME": "/data"}) == Path("/data/dragoman/sessions.db")
