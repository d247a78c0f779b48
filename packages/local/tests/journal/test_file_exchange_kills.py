"""Whoever is killed while it puts a journal in order loses nothing: whoever comes next finds all of it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.system.replacement import replace_file
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_local.journal import Entry, SqliteJournal, open_journal
from dragoman_local.journal.backup import restore
from dragoman_local.journal.file_exchange import successor_of
from dragoman_local.journal.journal_copy import CopyClock, copy_journal
from dragoman_local.journal.salvage import repair
from dragoman_local.journal.transcript import IMPORTING, export, load
from tests.crash_points import count_steps, kill_at, kill_within
from tests.journal.streams import frames, note

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="kills forks"),
    pytest.mark.timeout(1200),
    pytest.mark.bound(1200),
]

KILLS = int(os.environ.get("DRAGOMAN_RECOVERY_KILLS", "6"))
"""Of each recovery."""

STREAMS, COUNT, LOGGED = 5, 30, 4
BEGINNING = 4096


def text(stream: int, n: int) -> Entry:
    return Entry("note", b'{"stream":%d,"n":%d}' % (stream, n), float(n))


async def fill(path: Path, *, count: int = COUNT, ends: bool = True) -> None:
    async with open_journal(path) as journal:
        for stream in range(STREAMS):
            await journal.append(f"s{stream}", [text(stream, n) for n in range(1, count + 1)])
            await journal.describe(f"s{stream}", title=f"title {stream}")
        if not ends:
            os._exit(0)


async def add_to_log(path: Path) -> None:
    """Entries that are in the log alone: whoever wrote them was killed."""
    async with open_journal(path) as journal:
        for stream in range(STREAMS):
            await journal.append(f"s{stream}", [text(stream, COUNT + n) for n in range(1, LOGGED + 1)])
        os._exit(0)


async def content(path: Path) -> dict[str, list[bytes]]:
    async with open_journal(path) as journal:
        return {info.stream: await frames(journal, info.stream) for info in (await journal.list()).streams}


def expected(count: int) -> dict[str, list[bytes]]:
    return {f"s{stream}": [text(stream, n).frame for n in range(1, count + 1)] for stream in range(STREAMS)}


def make_journal(path: Path, *, is_logged: bool) -> None:
    asyncio.run(fill(path))
    if is_logged and os.fork() == 0:
        asyncio.run(add_to_log(path))
    if is_logged:
        os.wait()
        assert Path(f"{path}-wal").stat().st_size


def leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".") or "-new" in name]


def try_kills(
    tmp_path: Path,
    make: Callable[[Path], object],
    act: Callable[[Path], object],
    check: Callable[[Path], object],
    *,
    is_exchange: bool = True,
) -> None:
    """Kill the act at steps spread over all of it, and at random moments, in a new folder each; sometimes
    kill what comes after it, too. Then look at what is there. An exchange is at the end, and short beside the
    rest: half of the steps are there.
    """
    model = tmp_path / "model"
    model.mkdir()
    make(model)
    dice = random.Random(11)
    trial = tmp_path / "count"
    shutil.copytree(model, trial)
    steps, seconds = count_steps(lambda: act(trial))
    check(trial)
    at_steps = KILLS - KILLS // 3
    chosen_steps = [*range(max(steps - at_steps // 2 + 1, 1), steps + 1)] if is_exchange else []
    chosen_steps += [dice.randint(1, steps) for _ in range(at_steps - len(chosen_steps))]
    killed = 0
    for number in range(KILLS):
        folder = tmp_path / str(number)
        shutil.copytree(model, folder)
        if number < at_steps:
            killed += kill_at(chosen_steps[number], lambda: act(folder))  # noqa: B023  # called at once
        else:
            killed += kill_within(seconds, lambda: act(folder), dice)  # noqa: B023
        if number % 3 == 0:
            kill_at(dice.randint(1, 20), lambda: check(folder))  # noqa: B023
        try:
            check(folder)
        except BaseException as error:
            place = chosen_steps[number] if number < at_steps else "a random moment"
            error.add_note(f"killed at {place} of {steps} steps: {sorted(os.listdir(folder))}")
            raise
        shutil.rmtree(folder)
    assert killed >= at_steps // 2  # threads do not always take the same number of steps


def test_a_journal_that_is_saved_keeps_every_session(tmp_path: Path) -> None:
    def damage(folder: Path) -> None:
        make_journal(folder / "j.db", is_logged=False)
        whole = (folder / "j.db").read_bytes()
        (folder / "j.db").write_bytes(b"\0" * BEGINNING + whole[BEGINNING:])

    def check(folder: Path) -> None:
        assert asyncio.run(content(folder / "j.db")) == expected(COUNT)
        assert list(folder.glob("j.db.damaged-*"))
        assert not leftovers(folder)

    try_kills(tmp_path, damage, lambda folder: asyncio.run(content(folder / "j.db")), check)


def test_a_journal_that_is_repaired_keeps_what_is_in_its_log(tmp_path: Path) -> None:
    def check(folder: Path) -> None:
        assert asyncio.run(content(folder / "j.db")) == expected(COUNT + LOGGED)
        assert not leftovers(folder)

    try_kills(
        tmp_path,
        lambda folder: make_journal(folder / "j.db", is_logged=True),
        lambda folder: repair(folder / "j.db"),
        check,
    )


def test_a_restored_journal_is_the_backup_or_what_was_there_and_that_is_kept(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        asyncio.run(fill(folder / "backup.db", count=7))
        make_journal(folder / "j.db", is_logged=True)

    def check(folder: Path) -> None:
        there = asyncio.run(content(folder / "j.db"))
        if there != expected(COUNT + LOGGED):
            assert there == expected(7)
            (kept,) = (
                path
                for path in folder.glob("j.db.before-restore-*")
                if path.suffix[-4:] not in ("-wal", "-shm", "lock")
            )
            assert asyncio.run(content(kept)) == expected(COUNT + LOGGED)
        assert not leftovers(folder)

    try_kills(
        tmp_path, make, lambda folder: restore(folder / "backup.db", folder / "j.db", replace=True), check
    )


async def copy(folder: Path) -> None:
    clock = CopyClock()
    async with (
        SqliteJournal(folder / "j.db", redact=None) as source,
        SqliteJournal(folder / "target.db", redact=None, clock=clock) as target,
    ):
        async for _ in copy_journal(source, target, clock):
            pass


def test_a_copy_of_a_journal_is_finished_by_the_next_run(tmp_path: Path) -> None:
    def check(folder: Path) -> None:
        asyncio.run(copy(folder))
        assert asyncio.run(content(folder / "target.db")) == expected(COUNT)
        assert asyncio.run(content(folder / "j.db")) == expected(COUNT)

    try_kills(
        tmp_path,
        lambda folder: make_journal(folder / "j.db", is_logged=False),
        lambda folder: asyncio.run(copy(folder)),
        check,
    )


async def delete_and_search(path: Path) -> None:
    async with open_journal(path) as journal:
        await journal.search("stream")
        await journal.find_key("s1", "none")
        await journal.delete("s0")


def test_a_deletion_and_an_index_cost_no_other_session(tmp_path: Path) -> None:
    others = {stream: entries for stream, entries in expected(COUNT + LOGGED).items() if stream != "s0"}

    def check(folder: Path) -> None:
        there = asyncio.run(content(folder / "j.db"))
        assert there.pop("s0", None) in (None, expected(COUNT + LOGGED)["s0"])
        assert there == others
        asyncio.run(delete_and_search(folder / "j.db"))

    try_kills(
        tmp_path,
        lambda folder: make_journal(folder / "j.db", is_logged=True),
        lambda folder: asyncio.run(delete_and_search(folder / "j.db")),
        check,
    )


def test_a_half_imported_session_says_so(tmp_path: Path) -> None:
    async def write(folder: Path) -> None:
        await fill(folder / "j.db", count=2500)
        async with open_journal(folder / "j.db") as journal:
            lines = [line async for line in export(journal, "s1")]
        (folder / "s1.ndjson").write_bytes(b"".join(lines))

    async def read(folder: Path) -> None:
        async with open_journal(folder / "target.db") as journal:
            with (folder / "s1.ndjson").open("rb") as file:
                await load(journal, "imported", file)

    async def look(folder: Path) -> None:
        async with open_journal(folder / "target.db") as journal:
            info = await journal.info("imported")
            if info is not None and info.state != IMPORTING:
                assert info.last in (0, 2500)

    try_kills(
        tmp_path,
        lambda folder: asyncio.run(write(folder)),
        lambda folder: asyncio.run(read(folder)),
        lambda folder: asyncio.run(look(folder)),
    )


def test_tokens_and_settings_are_the_former_ones_or_the_new_ones(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        TokenStore(folder / "tokens.json").add("owner")
        replace_file(folder / "settings", b"old" * 1000)

    def act(folder: Path) -> None:
        store = TokenStore(folder / "tokens.json")
        store.add("second")
        store.rotate("owner")
        store.revoke("second")
        replace_file(folder / "settings", b"new" * 1000)

    def check(folder: Path) -> None:
        assert {token.name for token in TokenStore(folder / "tokens.json").read()} - {"second"} == {"owner"}
        assert (folder / "settings").read_bytes() in (b"old" * 1000, b"new" * 1000)

    try_kills(tmp_path, make, act, check)


async def test_two_who_open_a_journal_after_a_kill_both_find_it_in_order(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    path.rename(tmp_path / ".j.db.ready-damaged-20260101T000000")
    first, second = await asyncio.gather(content(path), content(path))
    assert first == second == expected(COUNT)
    assert successor_of(path) is None


async def test_a_journal_that_was_begun_after_a_kill_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    await fill(path)
    path.rename(tmp_path / ".j.db.ready-damaged-20260101T000000")
    (tmp_path / "j.db.damaged-20260101T000000").touch()
    base = sqlite3.connect(path)
    base.close()
    path.touch()
    assert await content(path) == expected(COUNT)
    assert len(list(tmp_path.glob("j.db.set-aside-*"))) == 1
    async with open_journal(path) as journal:
        assert await journal.append("s0", [note("on")]) == COUNT + 1
