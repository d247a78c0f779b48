"""An append of which one hears by a call stores what `append` stores, in the same order, or nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from dragoman.errors import StreamMoved
from dragoman_local.journal import SqliteJournal
from dragoman_local.journal.contract import Durability
from dragoman_local.journal.entry_runs import EntryBatch, FrameRun
from dragoman_local.journal.memory import MemoryJournal
from dragoman_local.journal.sqlite import LARGE_BYTES, open_journal, open_sealed
from tests.journal.streams import frames, notes

pytestmark = pytest.mark.bound(30)  # it is the disk that takes its time, and others use it too

SECRET = b'{"password":"hunter2"}'

BATCHES = [
    EntryBatch([FrameRun("to_client", (b'{"a":1}',), 2.0)]),
    EntryBatch([FrameRun("to_client", (b'{"a":2}', SECRET), 3.0), FrameRun("note", (b'{"n":1}',), 3.0)]),
    EntryBatch([FrameRun("to_agent", (SECRET,), 4.0, True)]),
]


EITHER = pytest.mark.parametrize("durability", ["full", "off"])


class Outcome:
    """What a caller hears."""

    def __init__(self) -> None:
        self.last = 0
        self.error: BaseException | None = None
        self.is_there = asyncio.Event()

    def __call__(self, last: int, error: BaseException | None) -> None:
        self.last, self.error = last, error
        self.is_there.set()


def rows_of(path: Path) -> list[list[tuple[object, ...]]]:
    """All that the tables say."""
    base = sqlite3.connect(path)
    try:
        tables = ("streams", "entries", "originals", "keys")
        return [base.execute(f"select * from {table}").fetchall() for table in tables]
    finally:
        base.close()


@EITHER
async def test_it_stores_what_append_stores(durability: Durability, tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "waits.db", clock=lambda: 1.0) as journal:
        for after, batch in zip((0, 1, 4), BATCHES, strict=True):
            await journal.append("s", batch, after=after)
    async with SqliteJournal(tmp_path / "hears.db", clock=lambda: 1.0, durability=durability) as journal:
        for after, batch in zip((0, 1, 4), BATCHES, strict=True):
            outcome = Outcome()
            assert journal.try_queue_append("s", batch, after=after, on_done=outcome)
            await outcome.is_there.wait()
            assert (outcome.last, outcome.error) == (after + len(batch), None)
        assert journal.appends == 3
    assert rows_of(tmp_path / "hears.db") == rows_of(tmp_path / "waits.db")


@EITHER
async def test_both_ways_keep_the_order_of_the_calls(durability: Durability, tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "j.db", durability=durability) as journal:
        first, second = Outcome(), Outcome()
        assert journal.try_queue_append("s", BATCHES[0], after=0, on_done=first)
        last = asyncio.ensure_future(journal.append("s", notes(1), after=1))
        await asyncio.sleep(0)
        assert journal.try_queue_append("s", BATCHES[0], after=2, on_done=second)
        assert await last == 2
        await second.is_there.wait()
        assert (first.last, second.last) == (1, 3)
        assert len(await frames(journal, "s")) == 3


@EITHER
async def test_an_append_behind_another_end_is_refused_and_nothing_is_written(
    durability: Durability, tmp_path: Path
) -> None:
    async with SqliteJournal(tmp_path / "j.db", durability=durability) as journal:
        await journal.append("s", notes(2))
        outcome = Outcome()
        assert journal.try_queue_append("s", BATCHES[0], after=1, on_done=outcome)
        await outcome.is_there.wait()
        assert isinstance(outcome.error, StreamMoved)
        assert len(await frames(journal, "s")) == 2


@EITHER
async def test_whoever_fails_at_what_it_hears_keeps_nobody_else_from_it(
    durability: Durability, tmp_path: Path
) -> None:
    def fail(last: int, error: BaseException | None) -> None:
        raise ZeroDivisionError

    async with SqliteJournal(tmp_path / "j.db", durability=durability) as journal:
        outcome = Outcome()
        assert journal.try_queue_append("a", BATCHES[0], after=0, on_done=fail)
        assert journal.try_queue_append("b", BATCHES[0], after=0, on_done=outcome)
        await outcome.is_there.wait()
        assert outcome.last == 1
        assert await journal.append("c", notes(1)) == 1


def large(journal: SqliteJournal, on_done: Callable[[int, BaseException | None], None]) -> bool:
    batch = EntryBatch([FrameRun("to_client", (b"x" * (LARGE_BYTES + 1),), 1.0)])
    return journal.try_queue_append("s", batch, after=0, on_done=on_done)


def small(journal: SqliteJournal, on_done: Callable[[int, BaseException | None], None]) -> bool:
    return journal.try_queue_append("s", BATCHES[0], after=0, on_done=on_done)


@pytest.mark.parametrize(
    ("ask", "durability", "closes"),
    [(large, "full", False), (large, "off", False), (small, "full", True), (small, "off", True)],
    ids=["redacted elsewhere", "redacted elsewhere at once", "not stored any more", "nor at once"],
)
async def test_what_needs_another_way_is_left_to_append(
    ask: Callable[[SqliteJournal, Callable[[int, BaseException | None], None]], bool],
    durability: Durability,
    closes: bool,
    tmp_path: Path,
) -> None:
    outcome = Outcome()
    async with SqliteJournal(tmp_path / "j.db", durability=durability) as journal:
        if closes:
            await journal.aclose()
        assert not ask(journal, outcome)
        assert journal.appends == 0
    assert not outcome.is_there.is_set()


async def test_where_no_commit_waits_for_the_disk_one_hears_of_it_at_once(tmp_path: Path) -> None:
    outcome = Outcome()
    async with SqliteJournal(tmp_path / "j.db", durability="off") as journal:
        assert journal.try_queue_append("s", BATCHES[0], after=0, on_done=outcome)
        assert (outcome.last, outcome.error) == (1, None)
        assert len(await frames(journal, "s")) == 1


async def test_it_does_not_overtake_what_waits_for_another_process(tmp_path: Path) -> None:
    outcome = Outcome()
    async with SqliteJournal(tmp_path / "j.db", durability="off") as journal:
        await journal.append("s", notes(1))
        other = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
        try:
            other.execute("begin immediate")
            assert not small(journal, outcome)
            first = asyncio.ensure_future(journal.append("s", notes(1), after=1))
            await asyncio.sleep(0)
            other.execute("rollback")
            assert not journal.try_queue_append("s", BATCHES[0], after=2, on_done=outcome)
            assert await first == 2
        finally:
            other.close()
    assert not outcome.is_there.is_set()


@pytest.mark.parametrize("opened", [open_journal, partial(open_sealed, key=bytes(32)), None])
async def test_entries_say_how_their_stream_stands_from_then_on(
    opened: Callable[..., SqliteJournal] | None, tmp_path: Path
) -> None:
    """Also of one that was not looked at before. A stream that nobody has described yet is not listed."""
    path = tmp_path / "j.db"
    run = BATCHES[0].runs
    async with nullcontext(MemoryJournal()) if opened is None else opened(path) as journal:
        after = await journal.append("s", EntryBatch(run, state="running"), after=0)
        assert list((await journal.list(state="running")).streams) == []
        await journal.describe("s", agent="a", cwd="/", state="idle")
        for state in ("running", "", "running", "idle"):
            after = await journal.append("s", EntryBatch(run, state=state), after=after)
            (listed,) = (await journal.list(state=state or "running")).streams
            assert listed.last == after
    if opened is not None:
        async with opened(path) as journal:
            assert await journal.append("s", EntryBatch(run, state="failed"), after=after) == after + 1
            assert [info.last for info in (await journal.list(state="failed")).streams] == [after + 1]
