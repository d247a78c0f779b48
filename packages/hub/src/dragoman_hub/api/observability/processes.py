"""The resources that process trees use: processor time, memory, processes, open descriptors. Read from
Linux's `/proc`.

One look serves any number of trees: the process table is read once, and descriptors are counted only of
processes that belong to a tree. A process that vanishes while one looks is not counted; where there is no
`/proc`, nothing is known, and the answer is None. It signals nobody and knows no agents.

A tree is its root, its group and session, and their descendants, as in `transport.tree`. The mark in the
environment is not looked for: it would double the price of every look, and what it finds beyond these has
left its parents on purpose.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

PROC = "/proc"


class Root(NamedTuple):
    """The root process of a tree. `start`, if known, distinguishes it from a later process
    with the same id.
    """

    pid: int
    start: int = 0
    alone: bool = False
    """Count only this process: for the hub, whose agents are counted separately."""


class TreeUse(Struct, frozen=True, kw_only=True):
    """The current resources of one tree. Shared memory counts for each process."""

    processes: int
    rss: int
    """Bytes in memory."""
    cpu: float
    """Seconds of processor time, of living processes and their reaped children."""
    descriptors: int | None
    """Open files, sockets and pipes; None if one of the processes can't be read."""


class _ProcessLine(NamedTuple):
    """One process, as in its `stat` file."""

    pid: int
    parent: int
    group: int
    session: int
    start: int
    ticks: int
    pages: int


def trees_use(roots: Mapping[str, Root], *, proc: str = PROC) -> dict[str, TreeUse | None]:
    """Return the resources of these trees by name; None for a tree that is gone or can't be measured here."""
    table = _table(proc) if roots else []
    children: dict[int, list[_ProcessLine]] = {}
    for line in table:
        children.setdefault(line.parent, []).append(line)
    return {name: _use(_members(root, table, children), proc) for name, root in roots.items()}


def _table(proc: str) -> list[_ProcessLine]:
    try:
        names = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:  # there is no such folder on this system
        return []
    lines = (_line(name, proc) for name in names)
    return [line for line in lines if line is not None]


def _line(name: str, proc: str) -> _ProcessLine | None:
    try:
        descriptor = os.open(f"{proc}/{name}/stat", os.O_RDONLY)
    except OSError:  # it has ended since it was listed
        return None
    try:
        text = os.read(descriptor, 4096)
    except OSError:  # it ended in between
        return None
    finally:
        os.close(descriptor)
    # The name in parentheses may hold anything: the fields begin behind the last one. See proc(5).
    fields = text.rpartition(b")")[2].split()
    if len(fields) < 22 or fields[0] in (b"Z", b"X"):
        return None
    parent, group, session = map(int, fields[1:4])
    return _ProcessLine(
        int(name), parent, group, session, int(fields[19]), sum(map(int, fields[11:15])), int(fields[21])
    )


def _members(
    root: Root, table: Iterable[_ProcessLine], children: Mapping[int, list[_ProcessLine]]
) -> list[_ProcessLine]:
    if root.pid <= 1:  # 0 is also the group of what is outside of our namespace; 1 has all orphans
        return []
    mine = {
        line.pid: line
        for line in table
        if root.pid in (line.pid, line.group, line.session) and line.start >= root.start
    }
    now = mine.get(root.pid)
    if now is not None and root.start and now.start != root.start:
        return []  # the number is in use again, by somebody else
    if root.alone:
        return [] if now is None else [now]
    queue = list(mine)
    while queue:
        for child in children.get(queue.pop(), ()):
            if child.pid not in mine and child.start >= root.start:
                mine[child.pid] = child
                queue.append(child.pid)
    return list(mine.values())


def _use(members: list[_ProcessLine], proc: str) -> TreeUse | None:
    if not members:
        return None
    counts = [_descriptors(line.pid, proc) for line in members]
    hidden = any(count is None for count in counts)
    return TreeUse(
        processes=len(members),
        rss=sum(line.pages for line in members) * _PAGE,
        cpu=sum(line.ticks for line in members) / _TICKS,
        descriptors=None if hidden else sum(count or 0 for count in counts),
    )


def _descriptors(pid: int, proc: str) -> int | None:
    try:
        return len(os.listdir(f"{proc}/{pid}/fd"))
    except FileNotFoundError:  # it has ended, and holds nothing
        return 0
    except ProcessLookupError:
        return 0
    except OSError:  # another user's
        return None


def _system_setting(name: str, otherwise: int) -> int:
    names = getattr(os, "sysconf_names", {})  # there is none on Windows
    return os.sysconf(name) if name in names else otherwise


_PAGE = _system_setting("SC_PAGE_SIZE", 4096)
_TICKS = _system_setting("SC_CLK_TCK", 100)
