"""Rows of several frames: they come back whole, from any place, and damage in one costs what it hit."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.journal import Entry, SqliteJournal, open_journal
from dragoman_local.journal.blocks import (
    BLOCK,
    MOST,
    MOST_BYTES,
    cut,
    entries_in,
    read_runs,
    run_of,
    write_block,
)
from dragoman_local.journal.entry_runs import runs_of_entries
from dragoman_local.journal.salvage import repair
from dragoman_local.journal.tables import PACK_FROM, entry_sum
from tests.journal.streams import replayed

TO_CLIENT = 1 + BLOCK
frames = st.lists(st.binary(max_size=12) | st.just(b"a\nb"), min_size=1, max_size=20)


def row_of(said: list[bytes], *, last: int, number: int = 3) -> tuple[object, ...]:
    held = write_block(number, last, TO_CLIENT, 2.5, said)
    return last, TO_CLIENT, 2.5, held, entry_sum(number, last, TO_CLIENT, 2.5, held)


def read(row: tuple[object, ...], sequence: int, *, number: int = 3) -> list[bytes]:
    run = run_of(number, sequence, row)
    return [] if run is None else list(run.frames)


@given(frames, st.integers(0, 30), st.data())
def test_frames_come_back_from_any_place(said: list[bytes], before: int, data: st.DataObject) -> None:
    row = row_of(said, last=before + len(said))
    skip = data.draw(st.integers(0, len(said) - 1))
    assert read(row, before + 1 + skip) == said[skip:]
    assert entries_in(3, before + 1, row) == len(said)
    assert read(row, before) == read(row, before + len(said) + 1) == []
    assert read(row, before + 1, number=4) == [], "it is another stream's"


@given(frames, st.data())
def test_nothing_false_is_read_from_a_row_that_was_changed(said: list[bytes], data: st.DataObject) -> None:
    last, direction, time, held, checksum = row_of(said, last=len(said))
    assert isinstance(held, bytes)
    place, change = data.draw(st.integers(0, len(held) - 1)), data.draw(st.integers(1, 255))
    harmed = held[:place] + bytes([held[place] ^ change]) + held[place + 1 :]
    row = (last, direction, time, harmed, checksum)
    found = read(row, 1)
    assert found == said[: len(found)]
    assert entries_in(3, 1, row) == 0


@given(frames, st.integers(1, 3), st.floats(0, 9), st.integers(0, 40), st.integers())
def test_a_row_that_stands_elsewhere_is_nobodys(
    said: list[bytes], way: int, time: float, last: int, checksum: int
) -> None:
    right = row_of(said, last=len(said))
    row = (last, way + BLOCK, time, right[3], checksum)
    if row[:3] != right[:3]:
        assert read(row, 1) == []


def test_a_row_with_a_value_of_another_type_holds_nothing() -> None:
    """SQLite keeps whatever somebody else writes into a column."""
    row = row_of([b"a", b"b"], last=2)
    assert entries_in(3, 1, row) == 2
    for place in range(5):
        for value in (None, "x", b"", 1.5, 7, True):
            if type(value) is not type(row[place]):
                odd = (*row[:place], value, *row[place + 1 :])
                if place < 4:  # whatever else stands for the sum is not it
                    assert read(odd, 1) == [], (place, value)
                assert entries_in(3, 1, odd) == 0, (place, value)
                runs = list(read_runs(3, 0, [odd], limit=9, most=99, read_other=lambda *row: None))
                assert sum(len(run.frames) for run in runs) in (0, 2)
                assert place == 4 or runs == []


def test_only_what_is_alike_and_small_shares_a_row() -> None:
    small, large = [b"x"] * 3, b"x" * PACK_FROM
    assert list(map(len, cut([*small, large, large, *small]))) == [3, 1, 1, 3]
    for frames in cut([b"x" * 500] * 3 * MOST):
        assert len(frames) <= MOST
        assert sum(map(len, frames)) <= MOST_BYTES
    assert [len(frames) for frames in cut([b""] * 2 * MOST)] == [MOST, MOST]
    alike = [Entry("to_client", b"x", 1.0)] * 3
    runs = runs_of_entries([*alike, Entry("note", b"x", 1.0), Entry("note", b"x", 2.0), *alike]).runs
    assert [len(run.frames) for run in runs] == [3, 1, 1, 3]


def entries(count: int) -> list[Entry]:
    return [Entry("to_client", b"frame %d" % n, 1.0) for n in range(1, count + 1)]


async def test_a_page_begins_and_ends_inside_a_row(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db", durability="off") as journal:
        await journal.append("a", entries(30))
        await journal.append("a", [Entry("note", b"frame 31", 2.0), *entries(40)[31:]])
        for after, limit in ((0, 1), (7, 5), (29, 3), (25, None), (35, 50), (40, None)):
            found = [one async for page in journal.replay("a", after=after, limit=limit) for one in page]
            last = 40 if limit is None else min(40, after + limit)
            assert [one.sequence for one in found] == list(range(after + 1, last + 1))
            assert all(one.frame == b"frame %d" % one.sequence for one in found)
    base = sqlite3.connect(tmp_path / "j.db")
    assert base.execute("select sequence from entries order by sequence").fetchall() == [(30,), (31,), (40,)]
    base.close()


def harm(path: Path, frame: bytes) -> None:
    content = path.read_bytes()
    place = content.index(frame)
    path.write_bytes(content[:place] + b"F" + content[place + 1 :])


async def written(path: Path) -> None:
    async with open_journal(path, durability="off") as journal:
        await journal.append("other", entries(3))
        await journal.append("a", entries(20))
        await journal.append("a", entries(50)[20:])


async def test_what_is_good_before_the_damage_in_a_row_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await written(path)
    harm(path, b"frame 31")
    salvage = repair(path)
    assert (salvage.entries, salvage.lost_entries) == (33, 20)
    async with open_journal(path) as journal:
        assert [one.frame for one in await replayed(journal, "a")] == [e.frame for e in entries(30)]
        assert [one.frame for one in await replayed(journal, "other")] == [e.frame for e in entries(3)]
        assert await journal.append("a", entries(1), after=30) == 31
        assert await journal.append("new", entries(1)) == 1


async def test_rows_of_one_and_of_many_are_saved_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with SqliteJournal(path, durability="off") as journal:
        await journal.append("a", [*entries(5), Entry("note", b"x" * 9000, 3.0), *entries(2)])
        before = await replayed(journal, "a")
    repair(path)
    async with open_journal(path) as journal:
        assert await replayed(journal, "a") == before
