"""Process trees: finds their processes, and ends all of them.

A tree is what one started program has become: the program, everything in its session and process group,
every descendant, and everything that carries the tree's mark in its environment. The mark is what finds a
process that made a session of its own and lost its parent, for which no other trace is left. What hides
from all of these (root's processes, seen by a user; a scrubbed environment behind a double fork) is not
found.

This file runs in two ways: imported, and as the script that a tree's guard executes when its owner is gone.
So it needs nothing but the standard library, and little of it. It knows Linux's `/proc`; elsewhere it falls
back on what `ps` lists.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MARK = "DRAGOMAN_TREE"
"""The environment variable that marks a tree. A tree inside a tree appends its mark, and is in both."""

EXEC_SECONDS = 1.0
"""The seconds that a look waits for a process that is about to become another program."""


class Process(NamedTuple):
    """One line of the process table. `start` distinguishes a process from a later one with the same id."""

    pid: int
    parent: int
    group: int
    session: int
    start: int
    dead: bool
    state: str = ""
    """The system's letter for its state."""

    @property
    def is_stopped(self) -> bool:
        """Whether the process is stopped, by a signal or a debugger."""
        return self.state in ("T", "t")


def processes() -> dict[int, Process]:
    """Return the process table as far as it is visible to us."""
    if not os.path.exists("/proc/self/stat"):
        return {process.pid: process for process in _listed_by_ps()}
    entries = (look_up(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in entries if process is not None}


def look_up(pid: int) -> Process | None:
    """Return one process, or None if it is gone."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:
            stat = os.read(fd, 4096)  # all of it: the system gives a line at once
        finally:
            os.close(fd)
    except OSError:
        return None
    # The name in parentheses may hold spaces and parentheses of its own: the fields begin behind the last.
    fields = stat.rpartition(b")")[2].split(None, 20)
    state, parent, group, session = fields[0].decode(), *map(int, fields[1:4])
    return Process(pid, parent, group, session, int(fields[19]), state in ("Z", "X"), state)


def _content(path: str) -> bytes:
    """A file of `/proc`, read without the buffers of `open`."""
    fd = os.open(path, os.O_RDONLY)
    try:
        text = b""
        while chunk := os.read(fd, 65536):
            text += chunk
        return text
    finally:
        os.close(fd)


def members(root: int, *, start: int = 0, mark: str = "") -> list[Process]:
    """Return the living processes of the tree below `root`, with `root`, parents before children.

    The number of a root that was reaped may be in use again. `start` guards against that: nothing older
    than the tree is in it, and an equal number with another start is somebody else.

    A process that starts a child and ends while the table is read is missed, and so is the child. So that
    nobody is left is believed when a second look says so too.
    """
    return _members_now(root, start, mark) or _members_now(root, start, mark)


def _members_now(root: int, start: int, mark: str) -> list[Process]:
    table = processes()
    now = table.get(root)
    # A root of 0 is one that nobody knows; but 0 is also the group of processes outside of our namespace.
    is_known = root > 1 and (now is None or start == 0 or now.start == start)
    younger = [process for process in table.values() if process.start >= start and process.pid != os.getpid()]
    mine: dict[int, Process] = {}
    for process in younger:
        inside = is_known and root in (process.pid, process.group, process.session)
        if inside or (mark and carries_mark(process.pid, mark)):
            mine[process.pid] = process
    _add_descendants(mine, younger)
    return [process for process in sorted(mine.values(), key=lambda member: member.start) if not process.dead]


def _add_descendants(mine: dict[int, Process], candidates: Iterable[Process]) -> None:
    children: dict[int, list[Process]] = {}
    for process in candidates:
        children.setdefault(process.parent, []).append(process)
    pids = list(mine)
    while pids:
        for child in children.get(pids.pop(), ()):
            if child.pid not in mine:
                mine[child.pid] = child
                pids.append(child.pid)


def carries_mark(pid: int, mark: str) -> bool:
    try:
        text = _environment(pid)
    except OSError:  # gone, or not ours to look at
        return False
    variable = f"{MARK}=".encode()
    marks = next((entry for entry in text.split(b"\0") if entry.startswith(variable)), variable)
    return mark.encode() in marks[len(variable) :].split(b",")


def _environment(pid: int) -> bytes:
    """What a process was started with. While it starts another program in its place (`exec`), the system
    shows neither environment nor arguments: that passes, and is waited for. OSError where there is none.
    """
    folder = f"/proc/{pid}"
    deadline = time.monotonic() + EXEC_SECONDS
    while not (text := _content(f"{folder}/environ")):
        if _content(f"{folder}/cmdline"):  # it has none, or has become the other program since
            return _content(f"{folder}/environ")
        os.readlink(f"{folder}/exe")  # fails for who has no program at all: the dead, the kernel's threads
        if time.monotonic() > deadline:
            break
        time.sleep(0.0002)
    return text


def _listed_by_ps() -> Iterator[Process]:
    import subprocess

    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False
    )
    for line in listing.stdout.splitlines():
        pid, parent, group, state = line.split(None, 3)
        yield Process(int(pid), int(parent), int(group), 0, 0, state.startswith("Z"), state[0])


def running(processes: Iterable[Process]) -> list[Process]:
    """Return the processes of a tree that can act now. Excluded are stopped processes, and those that wait in
    `vfork` for a stopped child: the system blocks them until the child continues, and only a kill reaches
    them.
    """
    processes = list(processes)
    blocked_parents = {process.parent for process in processes if process.is_stopped}
    return [
        candidate
        for candidate in processes
        if not (candidate.is_stopped or (candidate.state == "D" and candidate.pid in blocked_parents))
    ]


def send(number: signal.Signals, targets: Iterable[Process]) -> None:
    """Send a signal to each of these processes, if it is still the same process."""
    for process in targets:
        current = look_up(process.pid)
        if current is None and process.start:
            continue
        if current is not None and current.start != process.start:
            continue
        try:
            os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # it ended by itself, or took another user's identity: nothing that we could do


def kill_tree(root: int, *, start: int = 0, mark: str = "", seconds: float = 2.0, grace: float = 0.0) -> bool:
    """End a whole tree: ask first, if there is `grace`, then kill as long as new processes appear. True when
    nothing is left.

    A tree of which everything stands still is not asked: it would have to run for that, and somebody did not
    want it to.
    """
    start_time = time.monotonic()
    is_asked = False
    while living := members(root, start=start, mark=mark):
        spent = time.monotonic() - start_time
        if not is_asked and not running(living):
            grace = 0.0
        if spent >= grace:
            send(signal.SIGKILL, living)
        elif not is_asked:
            send(signal.SIGTERM, living)
            send(signal.SIGCONT, living)
            is_asked = True
        if spent > grace + seconds:
            return False
        time.sleep(0.002)  # the system needs a moment to bury them
    return True


if __name__ == "__main__":
    # Our input ended with our owner, and so did the tree's: half a second is for those who are on their way
    # out.
    kill_tree(int(sys.argv[1]), start=int(sys.argv[2]), mark=sys.argv[3], seconds=10.0, grace=0.5)
