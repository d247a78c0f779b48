"""More than anybody reads: the client waits, stays small, and loses nothing."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.faults.client.agents.floods import PIECES, SIZE, UPDATES
from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import AT_ONCE, WELL, complete, running
from tests.faults.watch import cpu, settled
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide()


@fault("CBP-01")
async def test_many_updates_are_shown_in_order(fault: str, tmp_path: Path) -> None:
    run = await complete("floods", fault, tmp_path, format_="quiet")
    assert run.status == 0
    assert b"".join((*run.out, run.unfinished)).decode().split() == [str(n) for n in range(UPDATES)]
    assert run.growth <= 8


@fault("CBP-02")
async def test_a_client_whose_output_nobody_reads_slows_its_agent(fault: str, tmp_path: Path) -> None:
    async with running("floods", fault, tmp_path) as run:
        run.peer.pause()
        before = await run.noted("before")
        await settled(lambda: cpu(run.peer.pid))
        assert run.peak - before <= 16
        assert not any("sent" in note for note in run.folder.notes)
        run.peer.resume()
        await run.done(seconds=40)
    assert run.status == 0
    words = [json.loads(text)["text"] for text in run.out if b'"event":"text"' in text]
    assert [int(text.split()[0]) for text in words] == list(range(PIECES))
    assert all(len(text) == SIZE for text in words)
    assert run.growth <= 16


@fault("CBP-X06")
async def test_a_client_that_waits_for_its_reader_can_be_ended(fault: str, tmp_path: Path) -> None:
    async with running("floods", fault, tmp_path, *AT_ONCE) as run:
        run.peer.pause()
        await run.noted("before")
        await settled(lambda: cpu(run.peer.pid))
        run.peer.send_signal(signal.SIGTERM)
        status = await run.peer.wait(seconds=10)
        await run.gone(seconds=1)
    assert status == 143


@cases({"CBP-X02": 8, "CBP-X03": 32, "CBP-X09": 64}, slow=("CBP-X09",))
async def test_a_flood_is_survived(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete("floods", fault, tmp_path, format_="quiet")
    assert run.status == 0
    assert b"".join((*run.out, run.unfinished)).decode().strip() == WELL
    assert run.growth <= case
    if fault == "CBP-X03":
        assert run.folder.noted("answered") is True


@cases(
    {"CBP-X04": "--timeout", "CBP-X05": "--start-timeout", "CBP-X07": "--timeout"},
    slow=("CBP-X04", "CBP-X05"),
)
@together
async def test_an_endless_flood_ends_with_the_deadline(fault: str, case: str, tmp_path: Path) -> None:
    run = await complete("floods", fault, tmp_path, case, f"{patience(1.5)}", *AT_ONCE, format_="quiet")
    assert run.status == 124
    assert run.growth <= 12


@fault("CBP-X08")
@together
async def test_a_client_that_waits_for_its_agent_sleeps(fault: str, tmp_path: Path) -> None:
    async with running("floods", fault, tmp_path, *AT_ONCE) as run:
        await run.noted("working")
        await settled(lambda: cpu(run.peer.pid))
        before = cpu(run.peer.pid)
        await asyncio.sleep(1)  # this is what is measured
        assert cpu(run.peer.pid) - before <= 0.05
        run.peer.send_signal(signal.SIGTERM)
        await run.done()
