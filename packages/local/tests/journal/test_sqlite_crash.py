"""A writer that is killed loses nothing that it acknowledged, and leaves a file that opens and goes on."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dragoman_local.journal import open_journal
from tests import forks
from tests.journal.streams import WRITER, frames

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")

KILLS = int(os.environ.get("DRAGOMAN_KILLS", "8"))


def start(path: Path, stream: str, size: int) -> subprocess.Popen[bytes] | forks.Fork:
    command = [sys.executable, "-c", WRITER, str(path), stream, str(size), str(10**9)]
    return forks.start(command, cwd=Path.cwd(), env=os.environ, stderr=2)


def acknowledged_before_kill(path: Path, stream: str, *, dice: random.Random) -> int:
    """Let a writer write for a moment, kill it, and tell the last sequence that it acknowledged."""
    writer = start(path, stream, dice.choice((1, 3, 40)))
    assert writer.stdout is not None
    last = 0
    for _ in range(dice.randint(1, 40)):
        last = int(writer.stdout.readline())
    # Not between two acknowledgements, but at any moment of what comes after them.
    threading.Event().wait(dice.random() * 0.003)
    writer.kill()
    rest = writer.stdout.read()
    writer.wait()
    writer.stdout.close()
    whole = rest[: rest.rfind(b"\n") + 1].split()
    return int(whole[-1]) if whole else last


@pytest.mark.timeout(120)
@pytest.mark.bound(110)
async def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    path, dice = tmp_path / "j.db", random.Random(20)
    known: dict[str, int] = {}

    async def round_(stream: str, seed: int) -> None:
        own = random.Random(seed)
        known[stream] = await asyncio.to_thread(acknowledged_before_kill, path, stream, dice=own)

    for _ in range(KILLS // 2):  # two at a time, on one file
        await asyncio.gather(round_("a", dice.getrandbits(32)), round_("b", dice.getrandbits(32)))
        async with open_journal(path) as journal:
            assert journal.salvage is None
            for stream, last in known.items():
                stored = await frames(journal, stream)
                assert len(stored) >= last, f"{last - len(stored)} acknowledged entries are gone"
                assert stored == [b"%d" % n for n in range(1, len(stored) + 1)]


@pytest.mark.bound(50)
async def test_many_processes_may_begin_and_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.db"
    writers = [start(path, f"s{n}", 2) for n in range(4)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            for count in range(1, 6):
                assert await asyncio.to_thread(writer.stdout.readline) == b"%d\n" % (2 * count)
    finally:
        for writer in writers:
            writer.kill()
            assert writer.stdout is not None
            with writer.stdout as rest:
                rest.read()
            writer.wait()
    async with open_journal(path) as journal:
        for n in range(4):
            assert len(await frames(journal, f"s{n}")) >= 10


@pytest.mark.skipif(not os.path.exists("/usr/bin/strace"), reason="needs strace")
@pytest.mark.bound(50)
async def test_an_append_is_synced_before_it_is_acknowledged(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)]
    command += [sys.executable, "-c", WRITER, str(tmp_path / "j.db"), "a", "1", "10"]
    await asyncio.to_thread(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)
    calls = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines() if "(" in line]
    said = [at for at, call in enumerate(calls) if call.startswith('write(1, "')]
    assert len(said) == 10
    for before, here in itertools.pairwise(said):
        assert any("sync(" in call for call in calls[before:here]), "acknowledged before it was synced"
