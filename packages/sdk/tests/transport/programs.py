"""Small programs that tests start as real processes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

from dragoman.testing.pace import patience
from dragoman.transport.tree import look_up

RELAY = """
import os, sys, threading
outward = os.open(sys.argv[1], os.O_WRONLY)
inward = os.open(sys.argv[2], os.O_RDONLY)
def copy(source, target):
    try:
        while chunk := os.read(source, 65536):
            while chunk:
                chunk = chunk[os.write(target, chunk):]
    except OSError:
        pass
    os.close(target)
back = threading.Thread(target=copy, args=(inward, 1), daemon=True)
back.start()
copy(0, outward)
back.join(0.1)
os._exit(0)
"""
"""Joins standard input and output to two FIFOs, so that a test can sit at the far end of a child process."""


def python(program: str, *arguments: str) -> list[str]:
    """The command that runs `program` in a bare interpreter, which starts in ten milliseconds."""
    return [sys.executable, "-I", "-S", "-c", program, *arguments]


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


BROOD = """
sleep 1000 & echo $!
setsid sleep 1000 & echo $!
orphan=$(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null' &)
echo $orphan
read -r _
"""
"""Starts a child in its group, a child in a session of its own, and an orphan in a session of its own;
names them.
"""


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie waits for its parent, but does not."""
    process = look_up(pid)
    return process is not None and not process.dead


async def eventually(condition: Callable[[], bool], *, seconds: float = 4.0) -> None:
    """Wait for something that happens in other processes, and that nobody tells us about."""
    deadline = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} seconds"
        await asyncio.sleep(0.01)
