"""What is erased is gone from the disk, and a kill in the middle leaves nothing half erased."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.errors import JournalError
from dragoman_local.contracts.journals import prompt_entry
from dragoman_local.journal import open_journal
from dragoman_local.journal.erasure import FORGETTING, SessionEraser, SessionNames


def files_with(marker: str, folder: Path) -> list[str]:
    return [
        path.name for path in folder.rglob("*") if path.is_file() and marker.encode() in path.read_bytes()
    ]


async def fill(path: Path) -> dict[str, str]:
    """Thirty sessions that grew side by side: their rows share pages, which SQLite has divided now and then.
    With this seed it leaves a copy of a row behind when it does. Returns a marker of each.
    """
    choose = random.Random(3)
    markers = {f"s{number}": f"mark{choose.getrandbits(64):016x}" for number in range(30)}
    async with open_journal(path, durability="off") as journal:
        for _ in range(300):
            name = choose.choice(list(markers))
            padding = "x" * choose.choice([5, 300, 800])
            await journal.append(name, [prompt_entry(f"{markers[name]} {padding}")])
        await journal.search("mark")
    return markers


async def test_no_file_has_a_word_of_what_was_erased(tmp_path: Path) -> None:
    markers = await fill(tmp_path / "j.db")
    erased_names = list(markers)[::2]
    async with open_journal(tmp_path / "j.db") as journal:
        await SessionEraser(journal).erase([SessionNames(name) for name in erased_names])
        assert await journal.scrub()
        assert not await journal.scrub(), "once is enough"
        # While it is open: the log of SQLite counts, too.
        assert {name: files_with(markers[name], tmp_path) for name in erased_names} == {
            name: [] for name in erased_names
        }
        kept_names = [name for name in markers if name not in erased_names]
        assert [len(await journal.search(markers[name])) > 0 for name in kept_names] == [True] * 15


async def test_deletions_that_come_together_clean_up_together(tmp_path: Path) -> None:
    markers = await fill(tmp_path / "j.db")
    async with open_journal(tmp_path / "j.db") as journal:
        assert await asyncio.gather(*map(journal.delete, [*markers, "nobody"])) == [True] * 30 + [False]
        assert journal.has_residue
    async with open_journal(tmp_path / "j.db") as journal:
        assert journal.has_residue, "the next process knows of it"
        await journal.scrub()
    assert [name for name in markers if files_with(markers[name], tmp_path)] == []


async def test_every_store_forgets_before_the_stream_does(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        await journal.append("a", [prompt_entry("hello")])
        eraser, calls = SessionEraser(journal), []

        async def erase(sessions: Sequence[SessionNames]) -> None:
            info = await journal.info("a")
            calls.append((sessions[0].agent_ids, info.state if info else None))

        async def fail(sessions: Sequence[SessionNames]) -> None:
            if len(calls) == 1:
                raise JournalError("the disk is full")

        eraser.register(erase)
        eraser.register(fail)
        with pytest.raises(JournalError, match="full"):
            await eraser.erase([SessionNames("a", ("own",))])
        await eraser.erase([SessionNames("a", ("own",))])
        assert calls == [(("own",), FORGETTING)] * 2
        assert await journal.info("a") is None
        await eraser.erase([SessionNames("a")])  # gone is not an error
        assert await journal.info("a") is None


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from dragoman_local.journal import open_journal
from dragoman_local.journal.erasure import SessionEraser, SessionNames

async def main():
    async with open_journal(sys.argv[1]) as journal:
        eraser = SessionEraser(journal)
        if sys.argv[2] == "store":
            async def die(sessions): os.kill(os.getpid(), signal.SIGKILL)
            eraser.register(die)
        await eraser.erase([SessionNames(name) for name in ("s0", "s2", "s4")])
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process with a signal")
@pytest.mark.parametrize("moment", ["store", "stream"])
async def test_a_kill_loses_nothing_else_and_the_next_run_finishes(tmp_path: Path, moment: str) -> None:
    markers = await fill(tmp_path / "j.db")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "j.db"), moment]
    assert (await asyncio.to_thread(subprocess.run, command, check=False)).returncode == -9
    async with open_journal(tmp_path / "j.db") as journal:
        rows = {info.stream: info.state for info in (await journal.list(limit=100)).streams}
        half_erased = [name for name, state in rows.items() if state == FORGETTING]
        assert sorted(half_erased) == (["s0", "s2", "s4"] if moment == "store" else [])
        await SessionEraser(journal).erase([SessionNames(name) for name in half_erased])
        await journal.scrub()
        assert len((await journal.list(limit=100)).streams) == 27
    assert [name for name in markers if not files_with(markers[name], tmp_path)] == ["s0", "s2", "s4"]
