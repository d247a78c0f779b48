"""The journal on disk: who may read it, what is deleted, what two processes do, what older files become."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
import threading
from pathlib import Path

import pytest

from dragoman.errors import (
    JournalBusy,
    JournalClosed,
    JournalError,
    JournalFull,
    NotAJournal,
    StreamMoved,
)
from dragoman.testing.pace import patience
from dragoman_local.contracts.journals import chunk_entry, prompt_entry
from dragoman_local.journal import Entry, SqliteJournal, open_journal
from dragoman_local.journal.sqlite import LARGE_BYTES
from tests.journal.streams import all_bytes, frames, note, notes

pytestmark = pytest.mark.bound(30)  # it is the disk that takes its time, and others use it too

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and descriptors")


async def test_nothing_is_made_before_it_is_entered(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "a" / "history.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(JournalClosed):
        await journal.append("a", notes(1))
    await journal.aclose()


async def test_a_journal_is_entered_once(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j.db")
    async with journal:
        pass
    with pytest.raises(JournalClosed):
        await journal.__aenter__()


@posix
async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with open_journal(tmp_path / "new" / "history.db") as journal:
            await journal.append("a", notes(1))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert {"history.db", "history.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0o600}


@posix
async def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", notes(2))
    (tmp_path / "j.db").chmod(0o644)
    async with open_journal(tmp_path / "j.db") as journal:
        assert await frames(journal, "a") == [b"1", b"2"]
    assert stat.S_IMODE((tmp_path / "j.db").stat().st_mode) == 0o600


async def test_closing_leaves_no_thread_and_no_log_behind(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", notes(10))
        await asyncio.gather(*(frames(journal, "a") for _ in range(8)))
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=patience(2))
    assert set(threading.enumerate()) <= before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j.db", "j.db-lock"]
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= descriptors


async def test_what_is_deleted_is_gone_from_the_disk(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("kept", [chunk_entry("agent_message_chunk", "an ordinary word")])
        await journal.append(
            "gone", [prompt_entry("xylophonic"), chunk_entry("agent_message_chunk", "xylophonic")]
        )
        await journal.describe("gone", title="xylophonic", cwd="/xylophonic")
        assert len(await journal.search("xylophonic")) == 2
        assert b"xylophonic" in all_bytes(tmp_path)
        assert await journal.delete("gone")
        assert b"xylophonic" not in all_bytes(tmp_path)
        assert len(await journal.search("ordinary")) == 1


async def test_secrets_are_hidden_unless_it_is_switched_off(tmp_path: Path) -> None:
    key = "sk-ant-" + "a1B2" * 8
    async with open_journal(tmp_path / "a" / "j.db") as journal:
        await journal.append("a", [prompt_entry(f"use {key}")])
        await journal.describe("a", title=f"use {key}")
        assert (await journal.info("a")).title == "use [redacted]"  # type: ignore[union-attr]
        assert key.encode() not in all_bytes(tmp_path / "a")
    async with open_journal(tmp_path / "b" / "j.db", redact=None) as journal:
        await journal.append("a", [prompt_entry(f"use {key}")])
        assert await frames(journal, "a") == [prompt_entry(f"use {key}").frame]


async def test_a_redaction_that_fails_fails_its_append_and_no_other(tmp_path: Path) -> None:
    def picky(frame: bytes) -> bytes:
        if frame == b"2":
            raise ValueError("not this one")
        return frame

    async with open_journal(tmp_path / "j.db", redact=picky) as journal:
        results = await asyncio.gather(
            *(journal.append(name, [note(name)]) for name in ("1", "2", "3")), return_exceptions=True
        )
        assert results[0] == 1
        assert isinstance(results[1], ValueError)
        assert results[2] == 1
        assert await journal.info("2") is None


async def test_two_journals_on_one_file_see_each_other(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as one, open_journal(tmp_path / "j.db") as other:
        await one.append("a", [note("1")])
        assert await other.append("a", [note("2")]) == 2
        assert await frames(one, "a") == [b"1", b"2"]
        await asyncio.gather(
            *(journal.append("shared", notes(2)) for _ in range(20) for journal in (one, other))
        )
        assert len(await frames(one, "shared")) == 80


async def test_whoever_holds_the_file_too_long_is_reported(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db", busy_seconds=0.05) as journal:
        await journal.append("a", notes(1))
        blocker = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
        blocker.execute("begin immediate")
        with pytest.raises(JournalBusy):
            await journal.append("a", notes(1))
        assert await frames(journal, "a") == [b"1"], "readers do not wait for a writer"
        blocker.execute("rollback")
        blocker.close()
        assert await journal.append("a", notes(1)) == 2


@pytest.mark.parametrize(
    "script",
    [
        "create table theirs (a); insert into theirs values (1);",
        "pragma application_id = 7;",
        "pragma application_id = 0x44524147; pragma user_version = 4;",
        "pragma application_id = 0x44524147; pragma user_version = 99;",
    ],
)
async def test_what_is_not_ours_or_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, script: str
) -> None:
    base = sqlite3.connect(tmp_path / "j.db")
    base.executescript(script)
    base.close()
    before = all_bytes(tmp_path)
    for _ in range(2):
        with pytest.raises(NotAJournal):
            async with open_journal(tmp_path / "j.db"):
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["j.db"]
    assert all_bytes(tmp_path) == before


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("my notes " * 1000)
    (tmp_path / "notes.txt").chmod(0o644)
    for _ in range(2):
        with pytest.raises(NotAJournal):
            async with open_journal(tmp_path / "notes.txt"):
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert all_bytes(tmp_path) == b"my notes " * 1000
    assert stat.S_IMODE((tmp_path / "notes.txt").stat().st_mode) == 0o644


async def test_a_folder_cannot_be_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        async with open_journal(tmp_path):
            pass


def test_a_durability_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="full, normal or off"):
        SqliteJournal(tmp_path / "j.db", durability="some")  # type: ignore[arg-type]


async def test_a_path_that_is_no_text_can_be_described(tmp_path: Path) -> None:
    odd = os.fsdecode(b"/tmp/\xff")
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.describe("a", cwd=odd)
        assert [info.stream for info in (await journal.list(cwd=odd)).streams] == ["a"]


async def test_a_time_that_is_no_number_becomes_the_beginning_of_time(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", [Entry("note", b"x", float("nan")), Entry("note", b"y", float("inf"))])
        times = [stored.time async for page in journal.replay("a") for stored in page]
        assert times == [0.0, float("inf")]


async def test_output_that_is_sent_again_and_again_takes_little_room(tmp_path: Path) -> None:
    lines = [f"line {n}: nothing special happened here\n" for n in range(2_000)]
    sent = [chunk_entry("agent_message_chunk", "".join(lines[: n * 20])) for n in range(100)]
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", sent)
        assert await frames(journal, "a") == [entry.frame for entry in sent]
    assert (tmp_path / "j.db").stat().st_size < sum(len(entry.frame) for entry in sent) / 4


@pytest.mark.parametrize("size", [4_095, 4_096, 100_000])
async def test_large_frames_come_back_as_they_were(tmp_path: Path, size: int) -> None:
    given = [Entry("to_agent", os.urandom(size), 1.0), Entry("to_client", b"x" * size, 1.0)]
    async with open_journal(tmp_path / "j.db", redact=None) as journal:
        await journal.append("a", given)
        stored = [one async for page in journal.replay("a") for one in page]
        assert [one.entry for one in stored] == given


async def test_a_slow_disk_makes_whoever_appends_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman_local.journal.writer.QUEUED_BYTES", 10_000)
    async with open_journal(tmp_path / "j.db") as journal:
        blocker = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
        blocker.execute("begin immediate")
        begun = [asyncio.ensure_future(journal.append("a", notes(1, size=1_000))) for _ in range(100)]
        for _ in range(10):
            await asyncio.sleep(0)
        writer = journal._writer
        assert writer is not None
        assert writer._queued_bytes < 20_000
        blocker.execute("rollback")
        blocker.close()
        assert sorted(await asyncio.gather(*begun)) == list(range(1, 101))


async def test_a_stream_that_others_change_is_looked_at_again(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as one, open_journal(tmp_path / "j.db") as other:
        assert await one.append("a", notes(2)) == 2
        assert await one.append("a", notes(2)) == 4
        assert await other.append("a", notes(3)) == 7
        assert await one.append("a", notes(1)) == 8
        await other.describe("a", title="another")
        assert await one.append("a", notes(1), after=8) == 9
        assert (await one.info("a")).title == "another"  # type: ignore[union-attr]
        await other.delete("a")
        assert await one.append("a", notes(1)) == 1
        with pytest.raises(StreamMoved):
            await other.append("a", notes(1), after=7)
        assert len(await frames(one, "a")) == 1


async def test_a_commit_that_failed_moves_no_stream(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with open_journal(path, busy_seconds=0.01) as journal:
        assert await journal.append("a", notes(2)) == 2
        assert await journal.append("a", notes(2)) == 4
        base = sqlite3.connect(path)
        base.execute("create trigger full before insert on entries begin select raise(abort, 'no room'); end")
        base.close()
        with pytest.raises(JournalError):
            await journal.append("a", notes(1))
        base = sqlite3.connect(path)
        base.execute("drop trigger full")
        base.close()
        assert await journal.append("a", notes(1), after=4) == 5
        assert len(await frames(journal, "a")) == 5


async def test_without_durability_the_loop_waits_for_no_other_process(tmp_path: Path) -> None:
    """What is small is written at once, in the loop's own thread; not while another process writes."""
    path = tmp_path / "j.db"
    async with open_journal(path, durability="off") as journal:
        assert await journal.append("s", [Entry("note", b"1", 0.0)]) == 1
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        waiting = asyncio.ensure_future(journal.append("s", [Entry("note", b"2", 0.0)]))
        await asyncio.sleep(0)  # the loop goes on
        assert not waiting.done()
        other.execute("rollback")
        other.close()
        assert await waiting == 2
        pages = [page async for page in journal.replay("s")]
        assert [bytes(one.frame) for page in pages for one in page] == [b"1", b"2"]


async def test_nobody_waits_while_a_large_entry_is_redacted(tmp_path: Path) -> None:
    may_go_on = threading.Event()

    def slow(frame: bytes) -> bytes:
        if len(frame) > LARGE_BYTES:
            assert may_go_on.wait(patience(20))
        return frame.replace(b"hush", b"[redacted]")

    async with open_journal(tmp_path / "j.db", redact=slow) as journal:
        text = b'"hush ' + b"x" * LARGE_BYTES + b'"'
        large = asyncio.ensure_future(journal.append("a", [Entry("to_agent", text, 0.0, True)]))
        assert await journal.append("b", notes(1)) == 1
        assert not large.done()
        may_go_on.set()
        assert await large == 1
        assert await frames(journal, "a") == [text.replace(b"hush", b"[redacted]")]
        assert await journal.originals("a") == {1: text}


@pytest.mark.parametrize("size", [1, LARGE_BYTES + 1])
async def test_without_memory_to_redact_it_an_entry_is_refused_and_the_next_one_is_not(
    tmp_path: Path, size: int
) -> None:
    failures = [MemoryError()]

    def short(frame: bytes) -> bytes:
        if failures:
            raise failures.pop()
        return frame

    async with open_journal(tmp_path / "j.db", redact=short) as journal:
        entries = [note("x" * size)]
        with pytest.raises(JournalFull, match="too little memory"):
            await journal.append("a", entries)
        assert await journal.append("a", entries) == 1


async def test_an_entry_of_a_stream_in_use_writes_two_pages_and_the_streams_time_once_a_second(
    tmp_path: Path,
) -> None:
    now = 100.0
    async with SqliteJournal(tmp_path / "j.db", clock=lambda: now) as journal:
        for _ in range(2):
            await journal.append("a", notes(1))
        log, page = tmp_path / "j.db-wal", 24 + 4096
        for moment, pages, updated in (
            (100.5, 2, 100.0),
            (100.9, 2, 100.0),
            (101.5, 3, 101.5),
            (99.0, 3, 99.0),
        ):
            now = moment
            before = log.stat().st_size
            await journal.append("a", notes(1))
            info = await journal.info("a")
            assert info is not None
            assert (log.stat().st_size - before, info.updated) == (pages * page, updated)
