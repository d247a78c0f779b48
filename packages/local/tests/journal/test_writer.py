"""One thread writes: what gathers is committed together, one failure stays one, and all of it ends."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import JournalClosed, JournalError, StreamMoved
from dragoman_local.contracts.journals import chunk_entry
from dragoman_local.journal import Entry, open_journal, writer
from dragoman_local.journal.sqlite_file import Refusal
from dragoman_local.journal.writer import WriterThread


class Statements:
    """A database in memory that remembers the statements that were run on it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.closed: list[sqlite3.Connection | None] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.execute("create table t (a unique)")
        connection.set_trace_callback(self.seen.append)
        return connection

    def close(self, connection: sqlite3.Connection | None) -> None:
        self.closed.append(connection)
        if connection is not None:
            connection.close()

    def explain(self, error: Refusal) -> JournalError:
        return JournalError(str(error))

    def writer(self) -> WriterThread:
        return WriterThread(self.open, explain=self.explain, close=self.close, name="test")

    def wait(self, _: sqlite3.Connection) -> None:
        self.may_go_on.wait()


def insert(value: int) -> Any:
    return lambda base: base.execute("insert into t values (?)", (value,)) and value


async def together(statements: Statements, writer: WriterThread, jobs: list[Any]) -> list[Any]:
    """Ask for all of them while the thread is held up."""
    statements.may_go_on.clear()
    holding = asyncio.ensure_future(writer.do(statements.wait, alone=True))
    begun = [asyncio.ensure_future(writer.do(job)) for job in jobs]
    await asyncio.sleep(0)
    statements.may_go_on.set()
    await holding
    return await asyncio.gather(*begun, return_exceptions=True)


async def test_what_has_gathered_is_committed_together() -> None:
    statements = Statements()
    writer = statements.writer()
    await writer.start()
    assert await together(statements, writer, [insert(n) for n in range(50)]) == list(range(50))
    assert statements.seen.count("commit") == 1
    await writer.aclose()


async def test_a_job_that_fails_fails_alone() -> None:
    statements = Statements()
    writer = statements.writer()
    await writer.start()
    results = await together(statements, writer, [insert(1), insert(1), insert(2)])
    assert results[0] == 1
    assert isinstance(results[1], JournalError)
    assert results[2] == 2
    assert await writer.do(lambda base: base.execute("select a from t order by a").fetchall()) == [(1,), (2,)]
    await writer.aclose()


async def test_a_job_that_is_refused_costs_the_others_no_second_try() -> None:
    def refuse(_: sqlite3.Connection) -> None:
        raise StreamMoved("a", 1, 2)

    statements = Statements()
    writer = statements.writer()
    await writer.start()
    results = await together(statements, writer, [insert(1), refuse, insert(2)])
    assert isinstance(results[1], StreamMoved)
    assert statements.seen.count("begin immediate") == 1
    await writer.aclose()


async def test_a_job_that_commits_by_itself_runs_in_its_place() -> None:
    statements = Statements()
    writer = statements.writer()
    await writer.start()
    statements.may_go_on.clear()
    jobs = [asyncio.ensure_future(writer.do(statements.wait, alone=True))]
    jobs += [asyncio.ensure_future(writer.do(insert(n), alone=n == 2)) for n in range(5)]
    await asyncio.sleep(0)
    statements.may_go_on.set()
    await asyncio.gather(*jobs)
    order = [word for seen in statements.seen if (word := seen.split()[-1]) not in ("immediate",)]
    assert order == ["(0)", "(1)", "commit", "(2)", "(3)", "(4)", "commit"]
    await writer.aclose()


async def test_between_those_who_are_told_of_a_commit_others_get_their_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer, "TOLD_ROWS", 2)
    statements, story = Statements(), []
    statements.may_go_on.clear()
    thread = statements.writer()
    await thread.start()
    first = asyncio.create_task(thread.do(statements.wait, alone=True))
    for number in range(6):

        def on_done(result: object, error: BaseException | None, number: int = number) -> None:
            story.append(number)
            if number == 0:
                asyncio.get_running_loop().call_soon(story.append, "other")

        assert thread.try_queue(insert(number), on_done, size=1, rows=1)
    statements.may_go_on.set()
    await first
    await thread.aclose()
    assert story == [0, 1, "other", 2, 3, 4, 5]


async def test_closing_finishes_what_was_asked_and_ends_the_thread() -> None:
    statements = Statements()
    writer = statements.writer()
    await writer.start()
    begun = [asyncio.ensure_future(writer.do(insert(n))) for n in range(10)]
    await asyncio.sleep(0)
    await asyncio.gather(writer.aclose(), writer.aclose())
    assert [await job for job in begun] == list(range(10))
    assert len(statements.closed) == 1
    with pytest.raises(JournalClosed):
        await writer.do(insert(11))


async def test_a_file_that_cannot_be_opened_is_reported_and_leaves_no_thread() -> None:
    def fail() -> sqlite3.Connection:
        raise PermissionError("not yours")

    statements = Statements()
    writer = WriterThread(fail, explain=statements.explain, close=statements.close, name="test")
    with pytest.raises(JournalError, match="not yours"):
        await writer.start()
    await writer.aclose()
    assert statements.closed == [None]


@pytest.mark.bound(60)
async def test_twenty_thousand_entries_are_appended_in_groups(tmp_path: Path) -> None:
    frame, writers, size = chunk_entry("agent_message_chunk", "x" * 60).frame, 50, 20
    async with open_journal(tmp_path / "j.db") as journal:

        async def write(name: str) -> None:
            for _ in range(20_000 // writers // size):
                await journal.append(name, [Entry("to_client", frame, 1.0)] * size)

        began = time.perf_counter()
        await asyncio.gather(*(write(f"s{n}") for n in range(writers)))
        seconds = time.perf_counter() - began
        assert sum([info.last for info in (await journal.list(limit=100)).streams]) == 20_000
    print(f"\n{20_000 / seconds:,.0f} durable entries a second, {size} an append, {writers} writers")
