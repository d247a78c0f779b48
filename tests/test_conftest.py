"""The guards of conftest.py bite: a leak fails, a hang fails, an error keeps its own face."""

import asyncio
import os
import subprocess
import sys

import pytest

from tests.conftest import children, guarded


async def test_a_task_left_behind_fails_the_test_and_is_ended() -> None:
    started: list[asyncio.Task[None]] = []

    async def leaks() -> None:
        started.append(asyncio.create_task(asyncio.Event().wait(), name="straggler"))  # type: ignore[arg-type]

    with pytest.raises(pytest.fail.Exception, match="straggler"):
        await guarded(leaks, seconds=5)()
    assert started[0].cancelled()


async def test_a_finished_task_is_no_leak() -> None:
    async def tidy() -> None:
        await asyncio.create_task(asyncio.sleep(0))

    await guarded(tidy, seconds=5)()


async def test_a_hanging_test_is_ended_by_its_bound() -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await guarded(hangs, seconds=0.01)()


async def test_an_error_of_the_test_is_not_hidden_by_a_leak() -> None:
    async def breaks() -> None:
        task = asyncio.create_task(asyncio.Event().wait())
        raise LookupError(task.get_name())

    with pytest.raises(LookupError):
        await guarded(breaks, seconds=5)()


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_children_lists_running_and_unreaped_processes() -> None:
    program = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()  # until it speaks it may still be in the middle of exec, without a name
        assert "input()" in children()[child.pid]
        child.stdin.write(b"\n")
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and nobody has asked for its status
        assert children()[child.pid] == "ended, not reaped"
    assert child.pid not in children()
