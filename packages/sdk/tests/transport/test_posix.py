"""Trees of real processes: everything that a program started ends with it, or with us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import Grace
from dragoman.transport.owned_tree import owned_trees
from dragoman.transport.process import ChildTransport, spawn
from tests.transport.programs import BROOD, alive, eventually, shell

QUICK = Grace(after_eof=0.2, after_terminate=0.2, leftovers=0.1)


@asynccontextmanager
async def brood(script: str = BROOD, *, named: int = 3) -> AsyncIterator[tuple[ChildTransport, list[int]]]:
    """A program that started others and named them."""
    child = spawn(shell(script), grace=QUICK)
    child.start(heard := SinkRecorder())
    try:
        await heard.until(lambda: heard.stream.count(b"\n") >= named)
        yield child, [int(line) for line in heard.stream.split()]
    finally:
        await child.aclose()


async def test_nothing_outlives_a_program_that_ends_at_eof() -> None:
    async with brood() as (child, pids):
        assert all(map(alive, pids))
        await child.aclose()
        assert [pid for pid in pids if alive(pid)] == []
        assert child.tree.returncode == 1  # `read` at the end of its input: it went by itself


async def test_nothing_outlives_a_program_that_dies() -> None:
    async with brood() as (child, pids):
        os.kill(child.tree.pid, signal.SIGKILL)
        await eventually(lambda: child.tree.is_gone)
        await eventually(lambda: not any(map(alive, pids)))  # they are killed; the system takes its time


async def test_nothing_outlives_a_program_that_must_be_killed() -> None:
    stubborn = "trap '' TERM;" + BROOD + "while :; do sleep 1000; done"
    async with brood(stubborn) as (child, pids):
        await child.aclose()
        assert [pid for pid in pids if alive(pid)] == []
        assert child.tree.returncode == -signal.SIGKILL


async def test_a_tree_that_grows_while_it_is_killed_is_killed_whole() -> None:
    growing = "trap '' TERM; (while :; do sleep 1000 & sleep 0.001; done) & echo $!; read -r _"
    async with brood(growing, named=1) as (child, _):
        await eventually(lambda: len(child.tree.processes()) > 5)
        child.tree.kill()
        await child.aclose()
        assert child.tree.processes() == []


async def test_what_is_left_running_is_asked_before_it_is_killed(tmp_path: object) -> None:
    polite = (
        f"(trap 'echo asked > {tmp_path}/word; exit' TERM; echo 1; while :; do sleep 0.01; done) & read -r _"
    )
    async with brood(polite, named=1) as (child, _):
        await child.aclose()
    with open(f"{tmp_path}/word", encoding="utf-8") as word:
        assert word.read() == "asked\n"


async def test_owned_trees_lists_what_runs_and_forgets_what_is_gone() -> None:
    async with brood() as (child, pids):
        [tree] = owned_trees()
        assert (tree.pid, tree.pgid, tree.command[0]) == (child.tree.pid, child.tree.pid, "/bin/sh")
        assert tree.processes()[0].pid == tree.pid
        assert {process.pid for process in tree.processes()} == {tree.pid, *pids}
        assert "sh" in repr(tree)
    assert owned_trees() == []


async def test_an_exit_that_somebody_else_reaped_is_still_an_exit() -> None:
    child = spawn(shell("read -r _; exit 3"), grace=QUICK)
    child.start(heard := SinkRecorder())
    child.write(b"go\n")
    os.waitid(os.P_PID, child.tree.pid, os.WEXITED)  # blocks the loop, so that nobody can be faster
    await heard.until_ended()
    assert "no exit status" in str(heard.endings[0])
    await child.aclose()


async def test_without_pidfds_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    child = spawn(shell("exit 5"), grace=QUICK)
    child.start(heard := SinkRecorder())
    await heard.until_ended()
    await child.aclose()
    assert "exit status 5" in str(heard.endings[0])


async def test_what_cannot_be_killed_does_not_keep_us(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dragoman.transport.owned_tree.UNKILLABLE", 0.1)
    child = spawn(shell("sleep 1000"), grace=QUICK)
    child.start(SinkRecorder())
    with monkeypatch.context() as powerless:
        powerless.setattr("dragoman.transport.tree.send", lambda number, targets: None)
        await child.aclose()
    assert f"could not end process {child.tree.pid}" in caplog.text
    os.killpg(child.tree.pid, signal.SIGKILL)
    await eventually(lambda: not os.path.exists(f"/proc/{child.tree.pid}"))  # when it can be reaped, it is


OWNER = """
import asyncio, os, sys
from dragoman.transport.process import spawn

class Print:
    def feed(self, block):
        sys.stdout.write(block.decode())
        sys.stdout.flush()
    def on_oversized(self, size): ...
    def on_end(self, reason): ...

async def main():
    child = spawn(["/bin/sh", "-c", sys.argv[1]])
    child.start(Print())
    print(child.tree.pid, flush=True)
    {then}
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@asynccontextmanager
async def owner(then: str, script: str = BROOD) -> AsyncIterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """Another process that owns a tree, and the numbers of everybody in it."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER.replace("{then}", then), script],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        lines = [await asyncio.to_thread(process.stdout.readline) for _ in range(4)]
        yield process, [int(line) for line in lines]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.bound(20)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_the_tree_of_an_owner_that_is_killed_dies_with_it(number: signal.Signals) -> None:
    async with owner("pass", "trap '' TERM;" + BROOD + "while :; do sleep 1000; done") as (process, pids):
        assert all(map(alive, pids))
        os.killpg(process.pid, number)  # its whole group: the guard must not be in it
        await eventually(lambda: not any(map(alive, pids)), seconds=10)


@pytest.mark.bound(20)
async def test_the_tree_of_an_owner_that_exits_without_closing_dies_with_it() -> None:
    async with owner("asyncio.get_running_loop().call_later(0.2, os._exit, 0)") as (_, pids):
        await eventually(lambda: not any(map(alive, pids)), seconds=10)


@pytest.mark.bound(20)
async def test_a_forked_copy_of_the_owner_does_not_keep_the_tree_alive() -> None:
    async with owner("copy = os.fork() or os.execvp('sleep', ['sleep', '3'])") as (process, pids):
        process.kill()
        await eventually(lambda: not any(map(alive, pids)), seconds=2.5)
