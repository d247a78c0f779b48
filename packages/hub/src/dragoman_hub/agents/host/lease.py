"""A lease: the time until its holder may act, and callbacks when it expires.

A lease is a moment on a clock that all processes of the machine share, that nobody sets, and that goes on
while the machine sleeps. It is not a span: what was held up on its way still means the same when it arrives.

It knows a clock and a timer, and nothing of agents.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LOOK = 0.25
"""The seconds between two checks of the clock: the loop's timers stop while the machine sleeps."""

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def now() -> float:
    """Return the seconds on the clock of leases. `CLOCK_MONOTONIC` includes sleep on systems without another
    clock; Linux has another one for that.
    """
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def moment(seconds: float, since: float | None = None) -> float:
    """Return the end of a lease of this many seconds, counted from `since`, a time of `now`, or from now."""
    return max(0.0, (now() if since is None else since) + seconds)


class TimedLease:
    """A lease without an end until the first `renew`. `ran_out()` is called each time it expires, by a timer
    or by the first check, before that check returns. Needs a running loop.
    """

    def __init__(self, *, ran_out: Callable[[], None], clock: Callable[[], float] = now) -> None:
        self.over = False
        """Whether it was seen to have run out; `lasts` looks."""
        self._until: float | None = None
        self._ran_out = ran_out
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def renew(self, until: float) -> None:
        """Set the end of the lease; it may be earlier than before."""
        self._until = until
        if until > self._clock():
            self.over = False
        self._look()

    def lasts(self) -> bool:
        if not self.over and self._until is not None and self._clock() >= self._until:
            self.over = True
            self._ran_out()
        return not self.over

    def drop(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self.drop()
        if self.lasts() and self._until is not None:
            remaining = self._until - self._clock()
            self._timer = self._loop.call_later(min(LOOK, max(0.0, remaining)), self._look)
