"""Suspends a whole process tree with SIGSTOP, and resumes it.

Its group stops in one step, against which no fork can run. Whoever left the group is found by looking
through the process table, again and again: a process that is stopped one moment too late may have made
another, and somebody outside may wake one. What cannot be found or signalled (see `transport.tree`) runs on,
and is named if it is known.

While a tree is held, nobody asks it to end: to be asked, it would have to run. It is killed instead.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from dragoman.transport import tree
from dragoman.transport.owned_tree import OwnedTree

SOON = 0.002
"""Seconds to the next look after one that found somebody new; the pause doubles while nobody is found."""

LATER = 1.0
"""The longest pause. A tree that stands still does not change by itself, and a look costs milliseconds."""


class Suspension:
    """`on_settled(running)` is called after each `begin`: with nobody when two looks, one behind the other,
    found the same processes and all of them still (the first may have missed who was made while it lasted);
    before that, after about a second, with the numbers of those who do not stop.
    """

    def __init__(self, owned_tree: OwnedTree, *, on_settled: Callable[[list[int]], None]) -> None:
        self._tree = owned_tree
        self._on_settled = on_settled
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._known_processes: set[tuple[int, int]] = set()  # numbers and starts of who was found last
        self._calm = False
        self._reported_pids: list[int] | None = None

    def begin(self) -> None:
        self._tree.is_halted = True
        self._calm, self._reported_pids = False, None
        self._known_processes.clear()
        if not self._tree.is_gone:  # as long as the program is not reaped, nobody else has its number
            with suppress(ProcessLookupError, PermissionError):  # all have ended, or are somebody else's now
                os.killpg(self._tree.pgid, signal.SIGSTOP)
        self._look(SOON)

    def end(self) -> None:
        """Let the process tree continue. Children first: a parent that looks finds them running, as it knew
        them.
        """
        self.drop()
        self._tree.is_halted = False
        tree.send(signal.SIGCONT, reversed(self._tree.processes()))

    def drop(self) -> None:
        """Look no more; whoever stands still stays so."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, pause: float) -> None:
        processes = self._tree.processes()
        tree.send(signal.SIGSTOP, (process for process in processes if not process.is_stopped))
        running = [process.pid for process in tree.running(processes)]
        known_before, self._known_processes = (
            self._known_processes,
            {(process.pid, process.start) for process in processes},
        )
        calm, self._calm = self._calm, not running
        if not self._known_processes <= known_before:
            pause = SOON
        elif calm and self._calm:
            self._tell([])
        elif running and pause >= LATER:
            self._tell(running)
        self._timer = self._loop.call_later(pause, self._look, min(2 * pause, LATER))

    def _tell(self, running: list[int]) -> None:
        """Report once which processes run, and once that none runs."""
        if self._reported_pids is None or (self._reported_pids and not running):
            self._reported_pids = running
            self._on_settled(running)
