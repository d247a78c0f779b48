"""A small count of what `run_many.py` does by hundreds."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.misbehaviour.leaks import Held, look

SCRIPT = Path(__file__).with_name("run_many.py")


@pytest.mark.slow  # `test_connect.py` tries each point in one way
def test_nothing_survives_many_conversations() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--count", "14"],
        capture_output=True,
        text=True,
        timeout=patience(55),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("14 conversations")


@pytest.mark.parametrize("what", ["a task", "a thread", "a descriptor", "a process"])
async def test_what_is_left_behind_would_be_found(what: str, tmp_path: Path) -> None:
    before, stop = look(), threading.Event()
    task = thread = fd = process = None
    if what == "a task":
        task = asyncio.create_task(asyncio.sleep(60), name="left")
    elif what == "a thread":
        thread = threading.Thread(target=stop.wait, name="left")
        thread.start()
    elif what == "a descriptor":
        fd = os.open(tmp_path, os.O_RDONLY)
    else:
        process = subprocess.Popen(["sleep", "60"])
    found: Held = look()
    assert list(found.more_than(before)) == [f"{what.partition(' ')[2]}s".replace("processs", "processes")]
    stop.set()
    if task is not None:
        task.cancel()
        await asyncio.wait((task,))
    if thread is not None:
        thread.join()
    if fd is not None:
        os.close(fd)
    if process is not None:
        process.kill()
        process.wait()
