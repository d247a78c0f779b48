"""A sealed journal: the whole contract, nothing in clear on disk, and whoever meddles with it is noticed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest

from dragoman.errors import JournalDamaged, LocalMistake
from dragoman_local.contracts import check_journal
from dragoman_local.contracts.journals import chunk_entry, prompt_entry
from dragoman_local.journal import Entry, SqliteJournal, StreamInfo, WrongKey, open_journal, open_sealed
from dragoman_local.journal.salvage import repair
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.sealed_search import scan
from dragoman_local.journal.streams import DIRECTION_NUMBERS
from dragoman_local.journal.tables import entry_sum, find_stream, write_stream
from tests.journal.streams import all_bytes, frames

pytestmark = pytest.mark.bound(30)  # it is the disk that takes its time, and others use it too

KEY = bytes(range(32))
OTHER = bytes(range(1, 33))


def sealed(path: Path, key: bytes = KEY) -> SqliteJournal:
    return open_sealed(path, key, durability="off")


def entry(text: str) -> Entry:
    return Entry("to_client", text.encode(), 1.0)


async def fill(path: Path, *, entries: int = 6) -> None:
    async with sealed(path) as journal:
        for name in ("a", "b"):
            await journal.append(name, [entry(f"{name} {number}") for number in range(entries)])
            await journal.describe(name, title=f"title {name}", cwd=f"/folder/{name}", agent="echo")


@contextmanager
def meddling(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody with a pen and no key, who knows how our checksums are made."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def rewrite(connection: sqlite3.Connection, stream: str, **changes: object) -> None:
    row = find_stream(connection, stream)
    assert row is not None
    fields = {name: getattr(row.info, name) for name in StreamInfo.__struct_fields__}
    write_stream(connection, row.number, StreamInfo(**{**fields, **changes}))


@pytest.mark.bound(60)
async def test_it_keeps_every_promise_of_a_journal(tmp_path: Path) -> None:
    names = count()
    await check_journal(lambda: sealed(tmp_path / f"{next(names)}.db"))


async def test_what_was_said_is_nowhere_on_disk_in_clear(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    long = "a very long and confidential story " * 500
    async with sealed(path) as journal:
        await journal.append(
            "a", [prompt_entry("confidential question"), chunk_entry("agent_message_chunk", long)]
        )
        await journal.describe("a", title="confidential title", cwd="/home/confidential", state="idle")
        assert len(await journal.search("confidential")) == 2
        assert b"confidential" not in all_bytes(tmp_path)
        info = await journal.info("a")
        assert info is not None
        assert (info.title, info.cwd) == ("confidential title", "/home/confidential")
        assert [one.stream for one in (await journal.list(cwd="/home/confidential")).streams] == ["a"]
        assert (await journal.list(cwd="/home")).streams == []
    assert b"confidential" not in all_bytes(tmp_path)
    assert path.stat().st_size < 75_000, "what is long is packed before it is sealed"
    async with sealed(path) as journal:
        assert (await frames(journal, "a"))[1] == chunk_entry("agent_message_chunk", long).frame


async def test_the_same_frame_never_looks_the_same(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with sealed(path) as journal:
        await journal.append("a", [entry("same") for _ in range(50)])
    with meddling(path) as connection:
        stored = [row[0] for row in connection.execute("select frame from entries")]
    assert len({frame[:12] for frame in stored}) == 50, "a nonce was used twice"
    assert len({frame[12:16] for frame in stored}) == 50, "what is the same looks the same"


async def test_a_key_opens_what_it_has_sealed_and_nothing_else(tmp_path: Path) -> None:
    path, plain = tmp_path / "j.db", tmp_path / "plain.db"
    await fill(path)
    with pytest.raises(WrongKey, match="sealed with another key"):
        await sealed(path, OTHER).__aenter__()
    with pytest.raises(WrongKey, match="its key is needed"):
        await open_journal(path).__aenter__()
    async with open_journal(plain, durability="off") as journal:
        await journal.append("a", [entry("in clear")])
    with pytest.raises(WrongKey, match="is not sealed, and stays so"):
        await sealed(plain).__aenter__()
    async with open_journal(plain) as journal:
        assert await frames(journal, "a") == [b"in clear"]
    async with sealed(path) as journal:
        assert len(await frames(journal, "a")) == 6


async def test_an_entry_that_was_moved_or_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    with meddling(path) as connection:
        numbers = dict(connection.execute("select stream, number from streams"))
        stored = {
            (stream, sequence): (direction, time, frame)
            for stream, number in numbers.items()
            for sequence, direction, time, frame in connection.execute(
                "select sequence, direction, time, frame from entries where number = ?", (number,)
            )
        }

        def put(stream: str, sequence: int, direction: int, time: float, frame: bytes) -> None:
            checksum = entry_sum(numbers[stream], sequence, direction, time, frame)
            connection.execute(
                "replace into entries values (?, ?, ?, ?, ?, ?)",
                (numbers[stream], sequence, direction, time, frame, checksum),
            )

        put("a", 3, *stored["a", 4])  # moved within its stream
        put("b", 5, *stored["a", 5])  # moved into another stream
    async with sealed(path) as journal:
        for stream, good in (("a", 2), ("b", 4)):
            with pytest.raises(JournalDamaged) as damage:
                await frames(journal, stream)
            assert damage.value.sequence == good
    with meddling(path) as connection:
        put("a", 3, *stored["a", 3])
        _, time, frame = stored["b", 5]
        put("b", 5, DIRECTION_NUMBERS["to_agent"], time, frame)  # said by somebody else
    async with sealed(path) as journal:
        assert len(await frames(journal, "a")) == 6
        with pytest.raises(JournalDamaged):
            await frames(journal, "b")


async def test_a_tail_that_was_cut_off_is_noticed_and_not_written_on(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    with meddling(path) as connection:
        connection.execute("delete from entries where number = 1 and sequence > 4")
        rewrite(connection, "a", last=4)
    async with sealed(path) as journal:
        assert [stored.sequence async for page in journal.replay("a", limit=4) for stored in page] == [
            1,
            2,
            3,
            4,
        ]
        for after in (0, 4):
            with pytest.raises(JournalDamaged, match="entry 5 of 6 was changed or lost") as damage:
                [page async for page in journal.replay("a", after=after)]
            assert damage.value.sequence == 4
        for refused in (journal.append("a", [entry("more")]), journal.describe("a", state="idle")):
            with pytest.raises(JournalDamaged, match="last 2 entries are gone"):
                await refused
        assert len(await frames(journal, "b")) == 6


@pytest.mark.parametrize(
    "change", [{"agent": "evil"}, {"state": "x"}, {"session": "x"}, {"last": 7}, {"cwd": "/"}]
)
async def test_what_is_known_about_a_stream_cannot_be_changed(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    with meddling(path) as connection:
        rewrite(connection, "a", **change)
    async with sealed(path) as journal:
        with pytest.raises(JournalDamaged):
            await journal.info("a")
        assert [info.stream for info in (await journal.list()).streams] == ["b"]


async def test_what_is_known_about_one_stream_does_not_pass_for_another(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    with meddling(path) as connection:
        row = find_stream(connection, "b")
        assert row is not None
        rewrite(connection, "a", title=row.info.title, cwd=row.info.cwd)
    async with sealed(path) as journal:
        with pytest.raises(JournalDamaged):
            await journal.info("a")


async def test_what_was_deleted_cannot_come_back_in_a_new_stream_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    with meddling(path) as connection:
        (old,) = connection.execute("select * from entries where number = 1 and sequence = 1").fetchall()
    async with sealed(path) as journal:
        await journal.delete("a")
        await journal.append("a", [entry("another")])
    with meddling(path) as connection:
        (number,) = connection.execute("select number from streams where stream = 'a'").fetchone()
        _, sequence, direction, time, frame, _ = old
        checksum = entry_sum(number, sequence, direction, time, frame)
        connection.execute(
            "update entries set frame = ?, sum = ? where number = ?", (frame, checksum, number)
        )
    async with sealed(path) as journal:
        with pytest.raises(JournalDamaged):
            await frames(journal, "a")


def destroy_words(path: Path) -> None:
    """Damage that no file survives as it is: a table that must be there is not."""
    with meddling(path) as connection:
        connection.execute("drop table indexed")


async def test_a_damaged_file_is_saved_and_stays_sealed(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    with meddling(path) as connection:
        connection.execute("delete from entries where number = 1 and sequence > 4")
        connection.execute("drop table seal")
    destroy_words(path)
    async with sealed(path) as journal:
        assert journal.salvage is not None
        assert (journal.salvage.entries, journal.salvage.lost_entries) == (10, 2)
        assert await frames(journal, "a") == [b"a 0", b"a 1", b"a 2", b"a 3"]
        assert await journal.append("a", [entry("more")]) == 5
    with pytest.raises(WrongKey):
        await sealed(path, OTHER).__aenter__()


async def test_a_journal_can_be_repaired_without_its_key(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    assert repair(path).entries == 12
    with pytest.raises(WrongKey, match="its key is needed"):
        await open_journal(path).__aenter__()
    async with sealed(path) as journal:
        assert len(await frames(journal, "a")) == 6
        assert [info.title for info in (await journal.list()).streams] == ["title b", "title a"]


async def test_a_search_reads_the_latest_first_and_has_a_bound(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with sealed(tmp_path / "j.db") as journal:
        for name in ("old", "new"):
            await journal.append(name, [prompt_entry(f"find me {number}") for number in range(30)])
        assert [one.stream for one in await journal.search("find me", limit=31)] == [*["new"] * 30, "old"]
        assert len(await journal.search("find", stream="old", limit=5)) == 5
        found = await scan(journal._read.ask, Seal(KEY), "find", limit=99, stream=None, most=30)
        assert {one.stream for one in found} == {"new"}
        assert "older entries were not searched" in caplog.text


def test_a_key_is_long_enough_and_never_shown() -> None:
    with pytest.raises(LocalMistake, match="at least 32 bytes"):
        Seal(b"short")
    assert Seal(KEY).id != Seal(OTHER).id
    assert KEY.hex() not in repr(Seal(KEY))


async def test_a_large_frame_is_saved_unread_and_stays_sealed(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    large = entry("so much " * 2000)
    async with sealed(path) as journal:
        await journal.append("a", [entry("small"), large])
    destroy_words(path)
    async with sealed(path) as journal:
        assert journal.salvage is not None
        assert await frames(journal, "a") == [b"small", large.frame]
