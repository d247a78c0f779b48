"""What a process costs, seen from outside through /proc."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

from dragoman.testing.pace import patience

MEBIBYTE = 1024 * 1024
TICKS = os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Resident memory in MiB."""
    return _status(pid, "VmRSS")


def limit_memory(pid: int, spare: int) -> None:
    """Let a process have this many MiB of address space more than it has, and no more."""
    limit = int((_status(pid, "VmSize") + spare) * MEBIBYTE)
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def forget_peak(pid: int) -> float:
    """Let the peak start anew; returns the memory it starts from, in MiB."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory(pid)


def peak(pid: int) -> float:
    """The most resident memory since `forget_peak`, in MiB. The kernel keeps it, so nothing is missed."""
    return _status(pid, "VmHWM")


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def pipes(pid: int) -> set[str]:
    """The pipes and sockets that a process holds, by what they are, not by number."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(os.readlink(link))
        except OSError:  # closed while we looked
            continue
    return {name for name in found if name.startswith(("pipe:", "socket:"))}


def cpu(pid: int) -> float:
    """Seconds of processor time used so far."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS


def state(pid: int) -> str:
    """R, S, T, Z …; empty when there is no such process."""
    try:
        return _stat(pid)[0]
    except OSError:
        return ""


def zombies(pid: int) -> list[int]:
    """Children that have ended and were not reaped."""
    found: list[int] = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [child for child in map(int, listing.read_text().split()) if state(child) == "Z"]
    return found


async def eventually(condition: Callable[[], bool], *, seconds: float = 5.0) -> None:
    """Wait for something that happens in another process, and that nobody tells us about."""
    deadline = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} seconds"
        await asyncio.sleep(0.03)  # a look at all processes takes some milliseconds


async def settled(measure: Callable[[], float], *, seconds: float = 20.0) -> float:
    """Wait until a figure has stopped growing for a while; returns it."""
    last, quiet, deadline = measure(), 0, time.monotonic() + patience(seconds)
    while quiet < 10:
        assert time.monotonic() < deadline, f"still growing after {seconds:g} seconds: {last}"
        await asyncio.sleep(0.03)
        last, quiet = (now, 0) if (now := measure()) > last else (last, quiet + 1)
    return last


def _status(pid: int, name: str) -> float:
    for text in Path(f"/proc/{pid}/status").read_text().splitlines():
        if text.startswith(f"{name}:"):
            return int(text.split()[1]) / 1024
    return 0.0  # a zombie has no memory


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
