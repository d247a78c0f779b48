"""A real hub beside an agent that asks for 600 files of 2 MB and never reads: memory, and everybody else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.hub.outside.process import ROOT, UNHURRIED, HubProcess, leave, running_hub
from tests.hub.sessions.raw_agents import eventually

pytestmark = [
    pytest.mark.bound(60),  # two agents are started, and a hub
    pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc"),
]

MEBIBYTE = 1024 * 1024
GREEDY = str(ROOT / "bench" / "hub" / "greedy.py")


def configuration(folder: Path) -> str:
    """The folder is a word of the agent's command, so that its process can be found."""
    command = json.dumps([sys.executable, GREEDY, str(folder)])
    return f'{UNHURRIED}\n[agents.greedy]\ncommand = {command}\ndialect = "v1"\nlinger = 1\n'


def peaks(hub: HubProcess) -> dict[int, int]:
    """The highest resident sets of the hub and the agent hosts of its agents, in bytes, by process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            is_ours = f"XDG_DATA_HOME={hub.folder / 'data'}\0".encode() in environment
            command = (process / "cmdline").read_bytes()
            if is_ours and (b"dragoman_hub.agents.host" in command or int(process.name) == hub.pid):
                found[int(process.name)] = _peak(process)
        except OSError:
            continue  # somebody else's, or gone
    return found


def _peak(process: Path) -> int:
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def end_greedy(folder: Path) -> None:
    """A hub that is stopped would wait for its turn."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[1:3] == [GREEDY.encode(), str(folder).encode()]:
                os.kill(int(process.name), signal.SIGKILL)


async def test_an_agent_that_never_reads_its_answers_costs_a_bounded_amount(tmp_path: Path) -> None:
    with running_hub(tmp_path, config=configuration(tmp_path), is_forked=False) as hub:
        large = hub.work / "large"
        large.write_text("x" * 2_000_000)
        greedy = await (await hub.client(query="?agent=greedy")).begin()
        other = await (await hub.client()).begin()
        waiting, quick = await greedy.new(str(hub.work)), await other.new(str(hub.work))
        await other.answer(other.prompt(quick, "first"))
        await eventually(lambda: len(peaks(hub)) == 3)
        before = peaks(hub)
        order = {"do": "reads", "path": str(large), "count": 600, "take": False}
        turn = greedy.prompt(waiting, json.dumps(order))
        for number in range(8):
            answer = await other.answer(other.prompt(quick, f"word {number}"))
            assert answer["result"]["stopReason"] == "end_turn"
        grown = {process: peak - before[process] for process, peak in peaks(hub).items()}
        assert len(grown) == 3
        assert all(growth < 48 * MEBIBYTE for growth in grown.values()), grown
        end_greedy(tmp_path)
        assert "error" in await greedy.answer(turn)
        await leave(greedy, other)
