"""What a process holds, to compare before and after: tasks, threads, descriptors, processes."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from dragoman.testing.pace import patience
from dragoman.transport.owned_tree import owned_trees
from tests.house import children


@dataclass(frozen=True)
class Held:
    """A look at ourselves."""

    tasks: frozenset[str]
    threads: frozenset[str]
    descriptors: frozenset[str]
    processes: frozenset[str]

    def more_than(self, before: Held) -> dict[str, list[str]]:
        """What is here now and was not before."""
        names = ("tasks", "threads", "descriptors", "processes")
        more = {name: sorted(getattr(self, name) - getattr(before, name)) for name in names}
        return {name: found for name, found in more.items() if found}


def look() -> Held:
    gc.collect()
    try:
        tasks = {task.get_name() for task in asyncio.all_tasks()}
    except RuntimeError:  # no loop runs
        tasks = set()
    trees = {f"tree {tree.pid}" for tree in owned_trees()}
    return Held(
        tasks=frozenset(tasks),
        # The pool of asyncio's own threads is kept for the next call, and ends with the loop.
        threads=frozenset(t.name for t in threading.enumerate() if not t.name.startswith("asyncio_")),
        descriptors=frozenset(_descriptors()),
        processes=frozenset({f"child {pid}: {name}" for pid, name in children().items()} | trees),
    )


def _descriptors() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(f"{name} -> {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:  # the one that lists the others
            continue
    return found


def strays(folder: Path, *, seconds: float = 2.0) -> list[str]:
    """Processes that work in a folder, after a moment for those that are on their way out."""
    deadline = time.monotonic() + patience(seconds)
    while (found := _working_in(os.fspath(folder))) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _working_in(folder: str) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd").startswith(folder):
                words = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{name}: {words.decode(errors='replace')}")
        except OSError:  # gone meanwhile
            continue
    return found
