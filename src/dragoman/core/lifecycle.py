"""Nothing but `initialize` before `initialize`.

Only the side that is initialized (the agent, or a proxy) has such a lifecycle. Requests that arrive while
`initialize` is still being answered are held, not refused: a client that writes both in one go has broken
no rule that helps anybody. `initialize` may be repeated until something else was asked.
"""

from __future__ import annotations

from enum import Enum

INITIALIZE = frozenset({"initialize", "proxy/initialize"})


class Gate(Enum):
    """What to do with a request right now."""

    GO = "go"
    HOLD = "hold"
    REFUSE = "refuse"


class Lifecycle:
    """fresh → initializing → ready, and back to fresh when `initialize` failed."""

    __slots__ = ("_pending", "_ready", "_used")

    def __init__(self, *, ready: bool = False) -> None:
        self._ready = ready
        self._used = ready  # something other than initialize was asked
        self._pending = 0

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def is_open(self) -> bool:
        """Any request but `initialize` may be worked on, and this has no effect on the lifecycle any more."""
        return self._used and self._ready and not self._pending

    def ask(self, method: str) -> Gate:
        if method in INITIALIZE:
            if self._used:
                return Gate.REFUSE
            self._pending += 1
            return Gate.GO
        if self._pending:
            return Gate.HOLD
        if not self._ready:
            return Gate.REFUSE
        self._used = True
        return Gate.GO

    def initialized(self, *, accepted: bool) -> bool:
        """`initialize` was answered. True when nothing is pending any more, so that held requests may be
        looked at again.
        """
        self._pending -= 1
        self._ready = self._ready or accepted
        return self._pending == 0
