"""A conversation is recorded as it happens; what is missing is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman import Agent, Turn, connect
from dragoman.errors import JournalFull
from dragoman_local.journal import Entry, MemoryJournal, open_journal
from dragoman_local.journal.history import HistoryRecorder, history_path, new_stream
from tests.journal.streams import frames, replayed


async def test_a_whole_conversation_is_recorded_and_described(tmp_path: Path) -> None:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("You said: " + turn.text)

    stream = new_stream()
    async with open_journal(tmp_path / "j.db") as journal, HistoryRecorder(journal) as history:
        async with connect(agent, tap=history.tap(stream)) as handle:
            session = await handle.new_session(cwd="/home")
            await session.prompt("Hello there")
        history.note(stream, stderr="a line")
        await history.flush()
        stored = await replayed(journal, stream)
        info = await journal.info(stream)
        assert info is not None
        assert (info.agent, info.cwd, info.title) == ("echo", "/home", "Hello there")
        assert (info.session, info.state) == (session.id, "end_turn")
        assert [found.stream for found in await journal.search("you said hello")] == [stream]
    told = [json.loads(one.frame) for one in stored]
    assert [frame["method"] for frame in told if "method" in frame and "id" in frame] == [
        *("initialize", "session/new", "session/prompt")
    ]
    assert stored[-1].direction == "note"
    assert told[-1] == {"stderr": "a line"}


async def test_leaving_stores_what_is_left() -> None:
    async with MemoryJournal() as journal:
        async with HistoryRecorder(journal) as history:
            for n in range(1_000):
                history.record("a", "to_client", b"%d\n" % n)
        assert await frames(journal, "a") == [b"%d" % n for n in range(1_000)]
        history.record("a", "to_client", b"too late\n")
        assert len(await frames(journal, "a")) == 1_000


async def test_a_block_of_frames_is_taken_apart() -> None:
    async with MemoryJournal() as journal, HistoryRecorder(journal) as history:
        history.record("a", "to_client", b'{"a":1}\n\n{"b":2}\n{"c":3}')
        history.record("b", "to_agent", b"{}")
        await history.flush()
        assert await frames(journal, "a") == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
        assert [stored.direction for stored in await replayed(journal, "b")] == ["to_agent"]


async def test_what_finds_no_room_is_counted_in_the_stream(caplog: pytest.LogCaptureFixture) -> None:
    async with MemoryJournal() as journal, HistoryRecorder(journal, limit=1_000) as history:
        for _ in range(10):
            history.record("a", "to_client", b"x" * 236 + b"\n")
        await history.flush()
        history.record("a", "to_client", b"after\n")
        await history.flush()
        stored = await frames(journal, "a")
        assert stored[:3] == [b"x" * 236] * 3
        assert json.loads(stored[3])["missing"] == 7
        assert stored[4:] == [b"after"]
    assert "has a gap" in caplog.text


class Full(MemoryJournal):
    full = True

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.full:
            raise JournalFull("no room")
        return await super().append(stream, entries, after=after)


async def test_a_full_disk_is_told_at_the_next_flush_and_recording_goes_on() -> None:
    journal = Full()
    async with HistoryRecorder(journal) as history:
        history.record("a", "to_client", b"1\n2\n")
        with pytest.raises(JournalFull):
            await history.flush()
        reason: object = history.error
        assert isinstance(reason, JournalFull)
        history.record("a", "to_client", b"3\n")
        with pytest.raises(JournalFull):
            await history.flush()
        journal.full = False
        history.record("a", "to_client", b"4\n")
        await history.flush()
        assert history.error is None
        gap, last = await frames(journal, "a")
        assert json.loads(gap)["missing"] == 3
        assert last == b"4"


class Broken(MemoryJournal):
    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        raise ZeroDivisionError


async def test_nobody_waits_for_a_recorder_that_broke() -> None:
    async with Broken() as journal:
        history = await HistoryRecorder(journal).__aenter__()
        history.record("a", "to_client", b"1\n")
        await history.flush()
        with pytest.raises(ZeroDivisionError):
            await history.aclose()


async def test_recording_never_waits_for_the_journal() -> None:
    journal = MemoryJournal()
    history = HistoryRecorder(journal)
    tasks = asyncio.all_tasks()
    history.record("a", "to_client", b"1\n")
    assert asyncio.all_tasks() == tasks
    async with history:
        await history.flush()
        assert await frames(journal, "a") == [b"1"]


def test_the_history_is_where_the_person_keeps_data() -> None:
    assert history_path({"XDG_DATA_HOME": "/data", "HOME": "/h"}) == Path("/data/dragoman/history.db")
    for odd in ({}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "not/absolute"}):
        assert history_path({**odd, "HOME": "/h"}) == Path("/h/.local/share/dragoman/history.db")


def test_new_names_are_unique_and_sort_by_time() -> None:
    names = [new_stream() for _ in range(100)]
    assert len(set(names)) == 100
    assert all(name[:8].isdigit() and name.count("-") == 2 for name in names)
