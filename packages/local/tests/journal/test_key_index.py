"""The index of idempotency keys in a journal's file: it is written with its entries, made again where it is
missing, and of no use to whoever reads the disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import JournalDamaged
from dragoman_local.contracts.journals import entries, hub_note, keyed_turn
from dragoman_local.journal import (
    Entry,
    KeyEntries,
    MemoryJournal,
    SqliteJournal,
    key_index_build,
    open_journal,
    open_sealed,
    transcript,
)
from dragoman_local.journal.idempotency import hash_of
from dragoman_local.journal.journal_copy import CopyClock, copy_journal
from dragoman_local.journal.salvage import repair
from dragoman_local.journal.streams import page_of

KEY = b"k" * 32

Open = Callable[[Path], SqliteJournal]


def plain(path: Path) -> SqliteJournal:
    return open_journal(path, durability="off", redact=None)


def sealed(path: Path) -> SqliteJournal:
    return open_sealed(path, KEY, durability="off", redact=None)


both = pytest.mark.parametrize("open_", [plain, sealed])


def turns(first: int, last: int) -> list[Entry]:
    return [entry for number in range(first, last) for entry in keyed_turn(f"k{number}")]


def take_index_away(path: Path) -> None:
    """Leave the file as a repair has left it."""
    base = sqlite3.connect(path)
    for statement in ("delete from keys", "insert into unkeyed select number, 0, last from streams"):
        base.execute(statement)
    base.commit()
    base.close()


@pytest.mark.bound(60)
@both
async def test_a_key_is_found_after_thousands_of_turns(tmp_path: Path, open_: Open) -> None:
    async with open_(tmp_path / "j.db") as journal:
        for first in range(0, 4_000, 2_000):
            await journal.append("s", turns(first, first + 2_000))
        for number in (0, 1_711, 3_999):
            found = KeyEntries(prompt=number * 4 + 1, answer=number * 4 + 4)
            assert await journal.find_key("s", f"k{number}") == found
        assert await journal.find_key("s", "k4000") is None


@both
async def test_the_index_of_a_repaired_journal_is_made_when_it_is_needed(
    tmp_path: Path, open_: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_index_build, "STEP_ENTRIES", 50)
    path = tmp_path / "j.db"
    async with open_(path) as journal:
        for stream in ("old", "other"):
            await journal.append(stream, [hub_note("made", f"key of {stream}"), *turns(0, 100)])
    take_index_away(path)
    caplog.set_level("INFO", "dragoman_local.journal")
    async with open_(path) as journal:
        await journal.append("old", turns(100, 101))
        assert await journal.find_key("old", "k3") == KeyEntries(prompt=14, answer=17)
        assert await journal.find_key("old", "k100") == KeyEntries(prompt=402, answer=405)
        assert await journal.find_key("old", "k101") is None
        assert await journal.find_stream_by_key("key of old") == "old"
        made = [record.getMessage() for record in caplog.records if "index of keys" in record.getMessage()]
        assert made == ["journal: the index of keys of stream old was made from 401 entries"]
        assert await journal.find_key("other", "k99") == KeyEntries(prompt=398, answer=401)
        assert await journal.find_stream_by_key("key of other") == "other"
        assert await journal.delete("other")
        assert await journal.find_stream_by_key("key of other") is None


@both
async def test_making_an_index_goes_on_where_it_was_broken_off(
    tmp_path: Path, open_: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_index_build, "STEP_ENTRIES", 100)
    path, steps = tmp_path / "j.db", 0
    async with open_(path) as journal:
        await journal.append("s", turns(0, 100))
    take_index_away(path)

    def fail_at_third(*arguments: object, **more: object) -> object:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise sqlite3.OperationalError("the machine stops here")
        return real(*arguments, **more)  # type: ignore[arg-type]

    real = page_of
    monkeypatch.setattr(key_index_build, "page_of", fail_at_third)
    async with open_(path) as journal:
        with pytest.raises(Exception, match="the machine stops here"):
            await journal.find_key("s", "k99")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select upto, last from unkeyed").fetchall() == [(200, 400)]
    async with open_(path) as journal:
        assert await journal.find_key("s", "k99") == KeyEntries(prompt=397, answer=400)
        assert await journal.find_key("s", "k0") == KeyEntries(prompt=1, answer=4)
    assert steps == 5


WRITER = """
import asyncio, sys
from dragoman_local.journal import open_journal
from dragoman_local.contracts.journals import keyed_turn

async def main():
    async with open_journal(sys.argv[1], durability="normal") as journal:
        for number in range(10**6):
            print(await journal.append("s", keyed_turn(f"k{number}")), flush=True)

asyncio.run(main())
"""


@pytest.mark.bound(60)
@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
async def test_entries_and_their_keys_survive_a_kill_together(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    for _ in range(30):
        await asyncio.to_thread(writer.stdout.readline)
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    async with open_journal(path) as journal:
        info = await journal.info("s")
        assert info is not None
        assert info.last >= 120
        for number in range(info.last // 4):
            found = KeyEntries(prompt=number * 4 + 1, answer=number * 4 + 4)
            assert await journal.find_key("s", f"k{number}") == found
        assert await journal.find_key("s", f"k{info.last // 4}") is None


async def test_no_key_lies_on_disk_in_clear_or_can_be_guessed_where_the_journal_is_sealed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.db"
    async with sealed(path) as journal:
        await journal.append("s", [hub_note("made", "key-of-the-session"), *keyed_turn("key-of-the-prompt")])
        assert await journal.find_key("s", "key-of-the-prompt") == KeyEntries(prompt=2, answer=5)
        on_disk = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for key in ("key-of-the-session", "key-of-the-prompt"):
        assert key.encode() not in on_disk
        assert hash_of(key) not in on_disk, "whoever guesses a key can prove it"


async def test_a_key_that_redaction_would_change_is_found_all_the_same(tmp_path: Path) -> None:
    secrets = ["sk-ant-api03-" + "x1Y2" * 10 + str(number) for number in range(2)]
    async with open_journal(tmp_path / "j.db", durability="off") as journal:
        for number, key in enumerate(secrets):
            await journal.append("s", keyed_turn(key))
            found = KeyEntries(prompt=number * 4 + 1, answer=number * 4 + 4)
            assert await journal.find_key("s", key) == found
        frames = b"".join([stored.frame async for page in journal.replay("s") for stored in page])
        assert not any(key.encode() in frames for key in secrets)


@both
async def test_a_copy_an_import_and_a_repaired_file_have_the_same_keys(tmp_path: Path, open_: Open) -> None:
    path = tmp_path / "j.db"
    expected = KeyEntries(prompt=30, answer=33)
    async with open_(path) as journal:
        await journal.append("s", [hub_note("made", "m"), *turns(0, 20)])
        clock = CopyClock()
        async with MemoryJournal(clock=clock) as copy:
            assert [one.entries async for one in copy_journal(journal, copy, clock)] == [81]
            assert await copy.find_key("s", "k7") == expected
            assert await copy.find_stream_by_key("m") == "s"
        text = b"".join([part async for part in transcript.export(journal, "s")])
        await transcript.load(journal, "imported", text.splitlines())
        assert await journal.find_key("imported", "k7") == expected
        await journal.delete("imported")
    repair(path)
    async with open_(path) as journal:
        assert await journal.find_key("s", "k7") == expected
        assert await journal.find_stream_by_key("m") == "s"


async def test_a_row_of_the_index_that_was_changed_on_disk_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with plain(path) as journal:
        await journal.append("s", turns(0, 3))
    base = sqlite3.connect(path)
    base.execute("update keys set answer = 4 where prompt = 5")
    base.commit()
    base.close()
    async with plain(path) as journal:
        assert await journal.find_key("s", "k0") == KeyEntries(prompt=1, answer=4)
        with pytest.raises(JournalDamaged, match="index of keys"):
            await journal.find_key("s", "k1")


async def test_two_processes_that_append_to_one_file_index_their_own_entries(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    async with plain(path) as one, plain(path) as two:
        for number in range(5):
            await one.append("s", keyed_turn(f"a{number}"))
            await two.append("s", [*entries(1), *keyed_turn(f"b{number}")])
        for number in range(5):
            at = number * 9
            assert await two.find_key("s", f"a{number}") == KeyEntries(prompt=at + 1, answer=at + 4)
            assert await one.find_key("s", f"b{number}") == KeyEntries(prompt=at + 6, answer=at + 9)
