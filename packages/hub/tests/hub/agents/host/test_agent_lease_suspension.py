"""Trees of real processes that are held still, and what becomes of them then."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from dragoman.testing.transports import SinkRecorder
from dragoman.transport import tree
from dragoman.transport.contract import Grace
from dragoman.transport.owned_tree import OwnedTree
from dragoman.transport.process import ChildTransport, spawn
from dragoman_hub.agents.host import agent_lease
from dragoman_hub.agents.host.agent_lease import Suspension
from tests.transport.programs import BROOD, alive, eventually, shell

pytestmark = [
    pytest.mark.bound(30),  # processes, on a machine that may be busy
    pytest.mark.skipif(
        not os.path.exists("/proc/self/stat"), reason="states of processes are read from /proc"
    ),
]

QUICK = Grace(after_eof=0.2, after_terminate=0.2, leftovers=0.1)


class Settled:
    def __init__(self) -> None:
        self.running: list[list[int]] = []
        self.event = asyncio.Event()

    def __call__(self, running: list[int]) -> None:
        self.running.append(running)
        self.event.set()


@asynccontextmanager
async def started(script: str, *, named: int) -> AsyncIterator[tuple[ChildTransport, list[int]]]:
    """A program that started others and named them."""
    child = spawn(shell(script), grace=QUICK)
    child.start(heard := SinkRecorder())
    try:
        await heard.until(lambda: heard.stream.count(b"\n") >= named)
        yield child, [int(line) for line in heard.stream.split()]
    finally:
        child.tree.kill()
        await child.aclose()


def stands(pid: int) -> bool:
    found = tree.look_up(pid)
    return found is not None and found.is_stopped


async def test_all_of_a_tree_stands_still_and_goes_on() -> None:
    async with started(BROOD, named=3) as (child, pids):
        halt = Suspension(child.tree, on_settled=(settled := Settled()))
        halt.begin()
        await settled.event.wait()
        assert settled.running == [[]]
        assert all(map(stands, [child.tree.pid, *pids]))
        halt.end()
        await eventually(lambda: not any(map(stands, [child.tree.pid, *pids])), seconds=20)
        assert all(map(alive, [child.tree.pid, *pids]))


async def test_a_tree_that_grows_in_all_directions_stands_still_as_a_whole() -> None:
    growing = "(while :; do setsid sleep 1000 & sleep 0.001; done) & echo $!; read -r _"
    async with started(growing, named=1) as (child, _):
        await eventually(lambda: len(child.tree.processes()) > 5, seconds=20)
        halt = Suspension(child.tree, on_settled=(settled := Settled()))
        halt.begin()
        await settled.event.wait()
        members = child.tree.processes()
        assert tree.running(members) == []
        again = {process.pid for process in child.tree.processes()}
        assert again == {process.pid for process in members}  # nobody is there to make more
        halt.drop()


async def test_who_is_woken_from_outside_is_stopped_again() -> None:
    async with started("sleep 1000 & echo $!; wait", named=1) as (child, [pid]):
        halt = Suspension(child.tree, on_settled=(settled := Settled()))
        halt.begin()
        await settled.event.wait()
        os.kill(pid, signal.SIGCONT)
        await eventually(lambda: stands(pid), seconds=20)
        assert len(settled.running) == 1
        halt.drop()


def kill_the_program(child: ChildTransport) -> None:
    os.kill(child.tree.pid, signal.SIGKILL)


def ask_the_tree(child: ChildTransport) -> None:
    child.tree.terminate()


@pytest.mark.parametrize("end", [kill_the_program, ask_the_tree])
async def test_what_stands_still_is_never_woken_to_be_asked(
    end: Callable[[ChildTransport], None], tmp_path: Path
) -> None:
    polite = f"(trap 'echo > {tmp_path}/asked; exit' TERM; echo $$; while :; do sleep 0.01; done) & read -r _"
    async with started(polite, named=1) as (child, _):
        halt = Suspension(child.tree, on_settled=(settled := Settled()))
        halt.begin()
        await settled.event.wait()
        halt.drop()  # or it would be stopped again before it is seen to run
        end(child)
        await eventually(lambda: child.tree.is_gone, seconds=20)
        assert list(tmp_path.iterdir()) == []


class Reluctant:
    """A tree of one process that no signal of ours reaches."""

    is_gone = True  # its group is nobody's
    is_halted = False
    process = tree.Process(1, 0, 1, 1, start=-1, dead=False, state="R")

    def processes(self) -> list[tree.Process]:
        return [self.process]


async def test_who_does_not_stop_is_named_and_told_when_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_lease, "LATER", 0.004)
    reluctant = Reluctant()
    halt = Suspension(cast(OwnedTree, reluctant), on_settled=(settled := Settled()))
    halt.begin()
    await settled.event.wait()
    settled.event.clear()
    assert (settled.running, reluctant.is_halted) == ([[1]], True)
    reluctant.process = reluctant.process._replace(state="T")
    await settled.event.wait()
    assert settled.running == [[1], []]
    halt.drop()


async def test_a_tree_that_is_gone_is_no_trouble() -> None:
    child = spawn(shell("exit"), grace=QUICK)
    child.start(SinkRecorder())
    await eventually(lambda: child.tree.is_gone, seconds=20)
    halt = Suspension(child.tree, on_settled=(settled := Settled()))
    halt.begin()
    await settled.event.wait()
    assert settled.running == [[]]
    halt.end()
    await child.aclose()
