"""The index of words is made while nobody appends, and follows from afar where somebody always does."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.errors import JournalClosed, JournalError
from dragoman_local.contracts.journals import chunk_entry, entries
from dragoman_local.journal import open_journal
from dragoman_local.journal.idle_index import (
    RESTLESS_ROUNDS,
    SCRUBBED_BYTES,
    SPARE_ENTRIES,
    WordJournal,
    index_while_idle,
)
from dragoman_local.journal.word_index import BEHIND
from tests.runtime.raw import until

pytestmark = pytest.mark.bound(30)  # it is the disk that takes its time


@asynccontextmanager
async def indexing(journal: WordJournal) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(index_while_idle(journal, quiet=0, pause=0))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


class Steps:
    """A journal that has so many steps to go."""

    def __init__(self, left: int) -> None:
        self.left, self.appends, self.steps = left, 0, 0
        self.busy_after = -1
        self.refusal: JournalError | None = None

        self.has_residue, self.size = False, 0
        self.spares: list[int] = []

    async def scrub(self) -> bool:
        self.has_residue = False
        return True

    async def index_words(self, *, most: int, spare: int = 0) -> bool:
        assert most > 0
        self.spares.append(spare)
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        self.steps += 1
        self.left -= 1
        if self.steps == self.busy_after:
            self.appends += 1
        return self.left > 0


async def turns_of_loop(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_words_are_found_in_the_index_without_a_search(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal, indexing(journal):
        await journal.append("a", [chunk_entry("agent_message_chunk", "a heron by the river")])
        base = sqlite3.connect(tmp_path / "j.db")
        await until(lambda: not base.execute(BEHIND).fetchall())
        assert base.execute("select count(*) from words where words match 'heron'").fetchone() == (1,)
        base.close()


async def test_it_rests_when_all_is_indexed_and_goes_on_when_somebody_appends() -> None:
    journal = Steps(3)
    async with indexing(journal):
        await until(lambda: not journal.left)
        await turns_of_loop()
        assert journal.steps == 3
        journal.appends, journal.left = 1, 2
        await until(lambda: not journal.left)
        assert journal.steps == 5


async def test_it_stops_between_two_steps_for_whoever_appends() -> None:
    journal = Steps(9)
    journal.busy_after = 2
    async with indexing(journal):
        await until(lambda: journal.steps == 2)
        journal.appends += 1  # and again, before it has been quiet
        await asyncio.sleep(0)
        assert journal.steps == 2
        await until(lambda: not journal.left)


class Restless(Steps):
    """Somebody has always appended since the last look."""

    looks = 0
    rests_after = 10**9

    @property
    def appends(self) -> int:
        self.looks += 1
        return min(self.looks, self.rests_after)

    @appends.setter
    def appends(self, count: int) -> None: ...


async def test_where_somebody_always_appends_it_follows_but_for_what_a_search_can_read_in_a_moment() -> None:
    journal = Restless(3)
    async with indexing(journal):
        await until(lambda: journal.steps == 1)
        assert journal.looks > RESTLESS_ROUNDS, "a rest is waited for first"
        await until(lambda: not journal.left)
        assert journal.spares == [SPARE_ENTRIES] * 3
        journal.left, journal.rests_after = 1, journal.looks
        await until(lambda: not journal.left)
        assert journal.spares[-1] == 0, "all of it is indexed when it rests"


async def test_what_may_be_missing_is_left_and_the_stream_that_is_furthest_behind_comes_first(
    tmp_path: Path,
) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", [chunk_entry("agent_message_chunk", "a heron")])
        await journal.append("b", [chunk_entry("agent_message_chunk", "an egret"), *entries(3)])
        base = sqlite3.connect(tmp_path / "j.db")
        assert not await journal.index_words(most=1, spare=5)
        assert base.execute("select count(*) from words").fetchone() == (0,)
        assert await journal.index_words(most=1, spare=4)
        assert base.execute("select text from words").fetchall() == [("an egret",)]
        base.close()


async def test_a_refusal_is_left_to_the_next_search_and_the_end_of_the_journal_is_its_end() -> None:
    journal = Steps(1)
    journal.refusal = JournalError("damaged")
    async with indexing(journal) as task:
        await turns_of_loop()
        assert (journal.steps, task.done()) == (0, False)
        journal.refusal, journal.appends = JournalClosed("closed"), 1
        await until(task.done)


async def test_the_file_is_written_anew_after_a_deletion_unless_it_is_large(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal, indexing(journal):
        await journal.append("a", [chunk_entry("agent_message_chunk", "a heron by the river")])
        await journal.delete("a")
        await until(lambda: not journal.has_residue)
    steps = Steps(1)
    steps.has_residue, steps.size = True, SCRUBBED_BYTES + 1
    async with indexing(steps):
        await until(lambda: steps.steps == 1)
        await turns_of_loop()
        assert steps.has_residue
        steps.size = SCRUBBED_BYTES
        await until(lambda: not steps.has_residue)
