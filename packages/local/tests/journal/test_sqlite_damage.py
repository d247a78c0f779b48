"""Damage on disk is noticed, never served; what lies before it is; the damaged file is kept."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from dragoman.errors import JournalDamaged, JournalError, JournalFull, NotAJournal
from dragoman_local.contracts.journals import chunk_entry
from dragoman_local.journal import Entry, SqliteJournal, open_journal, tables
from dragoman_local.journal.salvage import repair
from tests.forks import forked
from tests.journal.streams import all_bytes, frames, note, notes

pytestmark = pytest.mark.bound(30)  # it is the disk that takes its time, and others use it too

TEXT = "the text of frame {} of stream {}, which nobody may change"


def frame(stream: int, n: int) -> bytes:
    return chunk_entry("agent_message_chunk", TEXT.format(n, stream)).frame


def entry(stream: int, n: int) -> Entry:
    return Entry("to_client", frame(stream, n), 1.0)


async def fill(path: Path, *, streams: int = 6, count: int = 60) -> None:
    async with open_journal(path) as journal:
        for stream in range(streams):
            await journal.append(f"s{stream}", [entry(stream, n) for n in range(count)])
            await journal.describe(f"s{stream}", title=f"title {stream}")
        await journal.search("text")


async def collect(journal: SqliteJournal, stream: str, got: list[bytes]) -> None:
    """Replay into a list, which has what came before an error too."""
    async for page in journal.replay(stream):
        got += [stored.frame for stored in page]


async def served(journal: SqliteJournal, *, streams: int = 6, count: int = 60) -> tuple[int, bool]:
    """How many entries are served, all of them true and from the beginning, and whether damage was told."""
    good, told = 0, journal.salvage is not None
    for stream in range(streams):
        got: list[bytes] = []
        try:
            await collect(journal, f"s{stream}", got)
        except JournalError:
            told = True
        assert got == [frame(stream, n) for n in range(len(got))], "something false was served"
        told = told or len(got) < count
        good += len(got)
    return good, told


async def test_a_changed_byte_in_a_frame_is_noticed_and_what_is_before_it_is_served(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    content = path.read_bytes()
    place = content.index(b"frame 40 of stream 3")
    path.write_bytes(content[: place + 6] + b"9" + content[place + 7 :])
    async with open_journal(path) as journal:
        got: list[bytes] = []
        with pytest.raises(JournalDamaged) as damage:
            await collect(journal, "s3", got)
        assert got == [frame(3, n) for n in range(40)]
        assert (damage.value.stream, damage.value.sequence) == ("s3", 40)
        behind = [stored async for page in journal.replay("s3", after=41) for stored in page]
        assert [stored.frame for stored in behind] == [frame(3, n) for n in range(41, 60)]
        assert len(await frames(journal, "s2")) == 60, "other streams are as they were"


async def test_a_lost_tail_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with open_journal(path) as journal:
        await journal.append("s0", [entry(0, n) for n in range(50)])
        await journal.append("s0", [entry(0, n) for n in range(50, 60)])
    base = sqlite3.connect(path)
    base.execute("delete from entries where sequence > 50")
    base.commit()
    base.close()
    async with open_journal(path) as journal:
        with pytest.raises(JournalDamaged, match="entry 51 of 60"):
            await frames(journal, "s0")


async def test_no_changed_byte_is_ever_served_as_if_it_were_true(tmp_path: Path) -> None:
    sound = tmp_path / "sound.db"
    await fill(sound)
    content, dice = sound.read_bytes(), random.Random(7)
    told = 0
    for round_ in range(30):
        path = tmp_path / f"{round_}" / "j.db"
        path.parent.mkdir()
        harmed = bytearray(content)
        for _ in range(dice.choice((1, 1, 1, 200))):
            harmed[dice.randrange(len(harmed))] ^= dice.randrange(1, 256)
        path.write_bytes(harmed)
        (path.parent / "j.db-lock").touch()
        try:
            journal = await open_journal(path).__aenter__()
        except NotAJournal:  # it is the header that was hit
            told += 1
            continue
        async with aclosing(journal):
            _, noticed = await served(journal)
            told += noticed
            try:
                for info in (await journal.list(limit=100)).streams:
                    assert info.title == f"title {info.stream[1:]}", "a false title was served"
                found = await journal.search("text", limit=1000)
            except JournalError:
                continue
            assert all("the text of frame" in one.excerpt or "…" in one.excerpt for one in found)
    assert told > 5


@pytest.mark.parametrize("cut", [7, 4096, 20_000])
async def test_a_torn_file_serves_what_is_before_the_tear(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    os.truncate(path, path.stat().st_size - cut)
    torn = path.read_bytes()
    async with open_journal(path) as journal:
        good, told = await served(journal)
        assert good >= 100
        assert told or good == 360
        assert await journal.append("new", notes(1)) == 1, "it goes on"
        if journal.salvage is not None:
            assert journal.salvage.damaged_file.read_bytes() == torn, "the damaged file is kept as it was"


async def test_a_torn_log_serves_what_was_committed_before_the_tear(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    program = (
        "import asyncio, os, sys\n"
        "from dragoman_local.journal import Entry, open_journal\n"
        "async def main():\n"
        "    async with open_journal(sys.argv[1]) as journal:\n"
        "        for n in range(20):\n"
        "            await journal.append('a', [Entry('note', b'%d' % n, 1.0)])\n"
        "        os._exit(0)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run(forked([sys.executable, "-c", program, str(path)]), check=True)
    log = tmp_path / "j.db-wal"
    os.truncate(log, log.stat().st_size - 7)
    async with open_journal(path) as journal:
        assert await frames(journal, "a") == [b"%d" % n for n in range(19)]
        assert await journal.append("a", [note("again")]) == 20


async def test_a_file_without_its_beginning_is_salvaged_and_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    content = path.read_bytes()
    path.write_bytes(b"\0" * 4096 + content[4096:])
    async with open_journal(path) as journal:
        saved = journal.salvage
        assert saved is not None
        assert (saved.streams, saved.entries, saved.lost_entries) == (6, 360, 0)
        assert await served(journal) == (360, True)
        assert (await journal.info("s3")).title == "title 3"  # type: ignore[union-attr]
        assert len(await journal.search("stream 3", limit=1000)) > 0
    assert saved.damaged_file.read_bytes() == b"\0" * 4096 + content[4096:]
    async with open_journal(path) as journal:
        assert journal.salvage is None, "the new file is sound"
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


@pytest.mark.parametrize("table", tables.COLUMNS)
async def test_a_renamed_column_is_noticed_when_the_file_is_opened_and_nothing_is_lost(
    tmp_path: Path, table: str
) -> None:
    path = tmp_path / "j.db"
    await fill(path, streams=2, count=3)
    with closing(sqlite3.connect(path)) as other:
        column = tables.COLUMNS[table].split(", ")[-1]
        other.execute(f"alter table {table} rename column {column} to another")
        other.commit()
    async with open_journal(path) as journal:
        assert journal.salvage is not None
        assert await served(journal, streams=2, count=3) == (6, True)
        assert await journal.append("s0", notes(1)) == 4
    assert journal.salvage.lost_entries == 0
    assert journal.salvage.damaged_file.exists()


async def test_what_cannot_be_read_at_all_is_set_aside_and_a_new_journal_begins(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path, streams=1)
    path.write_bytes(b"\xaa" * 50_000)
    async with open_journal(path) as journal:
        assert journal.salvage is not None
        assert journal.salvage.entries == 0
        assert await journal.append("a", notes(1)) == 1
        assert journal.salvage.damaged_file.read_bytes() == b"\xaa" * 50_000


async def test_a_damaged_file_that_another_has_open_is_not_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with open_journal(path) as one:
        await one.append("a", notes(3))
        content = path.read_bytes()
        path.write_bytes(b"\xaa" * len(content))
        (tmp_path / "j.db-wal").write_bytes(b"")
        with pytest.raises(JournalDamaged, match="another process has it open"):
            async with open_journal(path):
                pass
        assert not list(tmp_path.glob("*damaged*"))


async def test_a_damaged_index_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    base = sqlite3.connect(path)
    base.execute("update words_data set block = x'ffffffffff' where id > 1")
    base.commit()
    base.close()
    async with open_journal(path) as journal:
        assert len(await journal.search("text", limit=5)) == 5


async def test_repair_on_request_keeps_everything_that_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    before = all_bytes(tmp_path)
    saved = repair(path)
    assert (saved.streams, saved.entries, saved.lost_entries) == (6, 360, 0)
    assert saved.damaged_file.read_bytes() == before
    async with open_journal(path) as journal:
        assert await served(journal) == (360, False)
    assert repair(path).entries == 360, "the first repair has given its lock back"


async def test_a_full_disk_fails_the_append_and_loses_nothing(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", notes(10))
        writer = journal._writer
        assert writer is not None
        await writer.do(lambda base: base.execute("pragma max_page_count = 30").fetchall(), alone=True)
        with pytest.raises(JournalFull):
            await journal.append("a", notes(1000, size=1000))
        assert await journal.append("a", notes(1)) == 11, "what fits is still taken"
        with pytest.raises(JournalFull):
            await journal.append("b", notes(1000, size=1000))
        assert await journal.info("b") is None
        await writer.do(lambda base: base.execute("pragma max_page_count = 100000").fetchall(), alone=True)
        assert await journal.append("a", notes(1000, size=1000)) == 1011
    async with open_journal(tmp_path / "j.db") as journal:
        assert (await frames(journal, "a"))[:11] == [note.frame for note in [*notes(10), *notes(1)]]


LIMITED = """
import asyncio, resource, sys
from dragoman.errors import JournalError
from dragoman_local.journal import Entry, open_journal
async def main():
    async with open_journal(sys.argv[1]) as journal:
        last = await journal.append("a", [Entry("note", b"x", 1.0)] * 10)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        for _ in range(1000):
            try:
                last = await journal.append("a", [Entry("note", b"y" * 1000, 1.0)] * 10)
            except JournalError as error:
                print(last, type(error).__name__, flush=True)
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert await journal.append("a", [Entry("note", b"z", 1.0)]) == last + 1
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
async def test_a_disk_that_takes_no_more_bytes_fails_the_append_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    done = subprocess.run(
        forked([sys.executable, "-c", LIMITED, str(path)]), capture_output=True, text=True, check=True
    )
    last, error = done.stdout.split()
    assert error in ("JournalError", "JournalFull")
    async with open_journal(path) as journal:
        assert len(await frames(journal, "a")) == int(last) + 1


SYNC_FAILS = """
import asyncio, os, sys
from dragoman.errors import JournalError
from dragoman_local.journal import Entry, open_journal
async def main():
    async with open_journal(sys.argv[1]) as journal:
        while True:
            try:
                last = await journal.append("a", [Entry("note", b"x" * 20, 1.0)])
            except JournalError as error:
                print(last, type(error).__name__, flush=True)
                os._exit(0)
asyncio.run(main())
"""


@pytest.mark.skipif(not os.path.exists("/usr/bin/strace"), reason="needs strace")
async def test_a_commit_whose_sync_fails_is_uncertain_since_it_may_stand_after_a_crash(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.db"
    command = ["strace", "-f", "-qq", "-o", str(tmp_path / "trace"), "-e", "trace=fdatasync,fsync"]
    command += ["-e", "inject=fdatasync,fsync:error=EIO:when=20+"]
    command += [sys.executable, "-c", SYNC_FAILS, str(path)]
    run = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    last, error = run.stdout.split()
    assert error == "JournalUncertain"
    async with open_journal(path) as journal:
        assert len(await frames(journal, "a")) == int(last) + 1, "it stands, as nobody could have known"
