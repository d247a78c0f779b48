"""Who is still alive of a trial: processes that carry its mark in their environment, or a word in their
command.

Reads `/proc`; elsewhere nothing is seen, and the effects that need it are not tried.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
MARK_VARIABLE = "DRAGOMAN_INTEROP"


def marked_processes(token: str) -> list[int]:
    """Processes that were started with this token in their environment; zombies have none."""
    needle = f"{MARK_VARIABLE}={token}".encode()
    return _matching("environ", lambda content: needle in content.split(b"\0"))


def commands_with(word: str) -> list[int]:
    """Processes that have this word among the words of their command; a shell with a line has not."""
    needle = word.encode()
    return _matching("cmdline", lambda content: needle in content.split(b"\0"))


async def wait_until(holds: Callable[[], bool], *, seconds: float) -> bool:
    """Look again and again until it holds, for so long."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.1)
    return True


def kill_marked(token: str) -> None:
    """End what a trial has left behind."""
    for pid in marked_processes(token):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _matching(name: str, matches: Callable[[bytes], bool]) -> list[int]:
    pids = []
    for folder in PROC.glob("[0-9]*") if PROC.is_dir() else ():
        with suppress(OSError):  # it has ended, or is somebody else's
            if int(folder.name) != os.getpid() and matches((folder / name).read_bytes()):
                pids.append(int(folder.name))
    return pids
