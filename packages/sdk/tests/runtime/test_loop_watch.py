"""What holds up a loop is found, with where it was; what a busy machine does is not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dragoman.runtime import loop_watch
from dragoman.runtime.loop_watch import LoopWatch, SlowCallback
from dragoman.testing.pace import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="waiting is seen on Linux alone")


@pytest.fixture(autouse=True)
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of this file counts as the package's."""
    monkeypatch.setattr(loop_watch, "package_folders", lambda: (str(Path(__file__).parent) + os.sep,))


def compute() -> None:
    end = time.thread_time() + 0.08
    while time.thread_time() < end:
        pass


async def wait_for_pipe(found: list[SlowCallback]) -> None:
    """Read from a pipe, in the loop, until the watch has seen it."""
    reading, writing = os.pipe()

    def write() -> None:
        deadline = time.monotonic() + patience(20)
        while not found and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        os.write(writing, b"x")

    thread = threading.Thread(target=write)
    thread.start()
    os.read(reading, 1)
    thread.join()
    os.close(reading)
    os.close(writing)


async def test_a_callback_that_computes_too_long_is_named() -> None:
    found: list[SlowCallback] = []
    with LoopWatch(found.append):
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_soon(compute)
        loop.call_soon(done.set)
        await done.wait()
    (slow,) = found
    assert (slow.name, slow.how) == ("compute", "computed")
    assert slow.seconds >= 0.08
    assert "test_loop_watch.py" in slow.place or not slow.place


@pytest.mark.bound(30)
async def test_a_callback_that_waits_for_the_system_is_named_with_its_place() -> None:
    found: list[SlowCallback] = []
    with LoopWatch(found.append):
        await asyncio.create_task(wait_for_pipe(found))
    assert [(slow.name, slow.how) for slow in found] == [("wait_for_pipe", "waited")]
    assert "wait_for_pipe" in found[0].place


async def test_who_waits_for_a_processor_or_the_interpreter_holds_up_nobody() -> None:
    """Other threads compute, other processes compute, and the callback itself does next to nothing."""
    found: list[SlowCallback] = []
    stop = threading.Event()

    def compute_beside() -> None:
        while not stop.is_set():
            sum(range(1000))

    async def do_little() -> None:
        for _ in range(30):
            sum(range(100))
            time.sleep(0)  # gives the interpreter to the others
        await asyncio.sleep(0)

    threads = [threading.Thread(target=compute_beside) for _ in range(3)]
    spin = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(spin) as one, subprocess.Popen(spin) as two:
        for thread in threads:
            thread.start()
        try:
            with LoopWatch(found.append):
                await do_little()
        finally:
            stop.set()
            one.kill()
            two.kill()
            for thread in threads:
                thread.join()
    assert found == []


async def test_what_others_do_in_the_loop_is_not_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_watch, "package_folders", lambda: ("/elsewhere/",))
    found: list[SlowCallback] = []
    with LoopWatch(found.append):
        done = asyncio.Event()
        asyncio.get_running_loop().call_soon(compute)
        asyncio.get_running_loop().call_soon(done.set)
        await done.wait()
    assert found == []


async def test_nothing_is_left_of_a_watch_that_has_ended() -> None:
    before = asyncio.Handle._run
    with LoopWatch(lambda slow: None):
        assert asyncio.Handle._run is not before
    assert asyncio.Handle._run is before
