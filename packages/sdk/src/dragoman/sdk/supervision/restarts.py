"""Decides when an agent that died is started again, after which delay, and when to give up.

Values in, values out: the clock is the caller's.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from dragoman.errors import CrashLoop, DragomanError


class Restarts(Struct, frozen=True, kw_only=True):
    """How often an agent may crash."""

    deaths: int = 3
    """This many crashes ..."""

    within: float = 60.0
    """... within this many seconds are a crash loop; then the agent is not started again."""

    first_delay: float = 0.2
    """The seconds from a crash to the next start; doubled with each further crash in the same time."""

    longest_delay: float = 10.0


class CrashHistory:
    """The crashes of one agent."""

    __slots__ = ("_restarts", "_times", "last")

    def __init__(self, restarts: Restarts) -> None:
        self._restarts = restarts
        self._times: deque[float] = deque()
        self.last: DragomanError | None = None

    def add(self, error: DragomanError, now: float) -> None:
        self.last = error
        self._times.append(now)
        self._forget_old(now)

    def clear(self) -> None:
        self._times.clear()

    def verdict(self, now: float) -> CrashLoop | None:
        """Return the error for callers if the agent crashed too often; None otherwise."""
        self._forget_old(now)
        if self.last is None or len(self._times) < self._restarts.deaths:
            return None
        return CrashLoop(self.last, deaths=len(self._times), seconds=self._restarts.within)

    def delay(self, now: float) -> float:
        """Return the seconds to wait from now on; an agent that crashed long ago need not wait."""
        self._forget_old(now)
        if not self._times:
            return 0.0
        backoff = self._restarts.first_delay * 2.0 ** (len(self._times) - 1)
        return max(0.0, self._times[-1] + min(backoff, self._restarts.longest_delay) - now)

    def _forget_old(self, now: float) -> None:
        while self._times and self._times[0] <= now - self._restarts.within:
            self._times.popleft()
