"""Ties an agent to the lease of its hub: the agent runs while the lease lasts, and is suspended afterwards.

Without any lease it may act. When the lease runs out its whole tree is stopped, and goes on with a new one;
if none comes for `linger` seconds, it is lost and must end. From the moment that the lease has run out the
tree does not run again, not even to end in order: it is killed as it stands.

It knows a tree and a clock. What hubs say, and how the agent host ends, is `agent_host`'s to know.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from dragoman.transport import tree
from dragoman.transport.owned_tree import OwnedTree
from dragoman_hub.agents.host.lease import TimedLease

STOPPED = b"agent host: the lease of the hub has run out; the agent is stopped"
NOT_STOPPED = b"agent host: the lease of the hub has run out, and these processes cannot be stopped:"
GOES_ON = b"agent host: the lease of the hub was renewed; the agent goes on"
LOST = b"agent host: the lease of the hub was not renewed; the agent is ended"


class AgentLease:
    """An agent's lease. `note(line)` sends a note to the hub, `on_lost()` informs the agent host."""

    def __init__(
        self, tree: OwnedTree, *, linger: float, note: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> None:
        self._tree = tree
        self._linger = linger
        self._note = note
        self._on_lost = on_lost
        self._ending = False
        self._halt = Suspension(tree, on_settled=self._on_suspended)
        self._lease = TimedLease(ran_out=self._ran_out)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        return self._lease.over

    def lasts(self) -> bool:
        """Whether the agent may act now. If not, it has been stopped before this returns."""
        return self._lease.lasts()

    def renew(self, until: float) -> bool:
        """Let the agent act until then. Returns true if the agent was suspended and continues."""
        stood = self._lease.over
        self._lease.renew(until)
        if self._ending or not stood or self._lease.over:
            return False
        self._cancel()
        self._halt.end()
        self._note(GOES_ON)
        return True

    def end(self) -> bool:
        """End the agent. Returns true if it may end in its own way while the lease lasts; otherwise all of it
        has been killed.
        """
        lasts = self._lease.lasts()
        self._ending = True
        if not lasts:
            self._kill()
        return lasts

    def drop(self) -> None:
        """Note that the process tree is gone."""
        self._lease.drop()
        self._halt.drop()
        self._cancel()

    def _ran_out(self) -> None:
        if self._ending:
            self._kill()
            return
        self._halt.begin()
        self._timer = asyncio.get_running_loop().call_later(self._linger, self._lose)

    def _on_suspended(self, running: list[int]) -> None:
        self._note(NOT_STOPPED + b"".join(b" %d" % pid for pid in running) if running else STOPPED)

    def _lose(self) -> None:
        self._note(LOST)
        self._on_lost()

    def _kill(self) -> None:
        self._halt.drop()
        self._tree.is_halted = True  # whoever is found later is not asked either
        self._tree.kill()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# Suspends a whole process tree with SIGSTOP, and resumes it.
#
# Its group stops in one step, against which no fork can run. Whoever left the group is found by looking
# through the process table, again and again: a process that is stopped one moment too late may have made
# another, and somebody outside may wake one. What cannot be found or signalled (see `transport.tree`) runs
# on, and is named if it is known.
#
# While a tree is held, nobody asks it to end: to be asked, it would have to run. It is killed instead.

SOON = 0.002
"""The seconds until the next check after one that found a new process; the pause doubles
while none is found.
"""

LATER = 1.0
"""The longest pause. A suspended tree does not change by itself, and a check costs milliseconds."""


class Suspension:
    """Suspends a process tree. `on_settled(running)` is called after each `begin`: with no processes when two
    checks in a row found the same processes, all stopped (the first may have missed a new process); or, after
    about a second, with the ids of those that do not stop.
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
        """Let the process tree continue, children first: a parent that checks finds them running."""
        self.drop()
        self._tree.is_halted = False
        tree.send(signal.SIGCONT, reversed(self._tree.processes()))

    def drop(self) -> None:
        """Stop checking; suspended processes stay suspended."""
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
