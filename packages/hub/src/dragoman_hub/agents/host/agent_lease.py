"""Ties an agent to the lease of its hub: the agent runs while the lease lasts, and is suspended afterwards.

Without any lease it may act. When the lease runs out its whole tree is stopped, and goes on with a new one;
if none comes for `linger` seconds, it is lost and must end. From the moment that the lease has run out the
tree does not run again, not even to end in order: it is killed as it stands.

It knows a tree and a clock. What hubs say, and how the agent host ends, is `agent_host`'s to know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dragoman.transport.owned_tree import OwnedTree
from dragoman_hub.agents.host.lease import TimedLease
from dragoman_hub.agents.host.suspension import Suspension

STOPPED = b"agent host: the lease of the hub has run out; the agent is stopped"
NOT_STOPPED = b"agent host: the lease of the hub has run out, and these processes cannot be stopped:"
GOES_ON = b"agent host: the lease of the hub was renewed; the agent goes on"
LOST = b"agent host: the lease of the hub was not renewed; the agent is ended"


class AgentLease:
    """An agent's lease. `note(line)` tells the hub, `on_lost()` the agent host."""

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
        """Whether the agent may act now. If not, it has been stopped before this is answered."""
        return self._lease.lasts()

    def renew(self, until: float) -> bool:
        """Act until then. True when the agent stood still, and goes on."""
        stood = self._lease.over
        self._lease.renew(until)
        if self._ending or not stood or self._lease.over:
            return False
        self._cancel()
        self._halt.end()
        self._note(GOES_ON)
        return True

    def end(self) -> bool:
        """The agent is to end. True when it may do so in its own way, for as long as the lease lasts; else
        all of it has been killed.
        """
        lasts = self._lease.lasts()
        self._ending = True
        if not lasts:
            self._kill()
        return lasts

    def drop(self) -> None:
        """The tree is gone."""
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
