"""One agent of a pool: started when it is first needed, used by many sessions at once.

An agent that cannot be started, or was given up, is broken; the others go on without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dragoman.errors import CrashLoop, DragomanError
from dragoman.sdk.supervision.supervisor import Supervised


class Seat:
    """A supervised agent and how much it has to do."""

    __slots__ = ("_agent", "_lock", "_opened", "_starts", "broken", "load")

    def __init__(self, agent: Supervised, starts: asyncio.Semaphore) -> None:
        """`starts` is the room that all agents of a pool share for starting."""
        self.load = 0
        self.broken: DragomanError | None = None
        self._agent = agent
        self._opened = False
        self._starts = starts
        self._lock = asyncio.Lock()

    async def agent(self) -> Supervised:
        """Its agent, started. Raises what made it broken."""
        async with self._lock:
            if self.broken is not None:
                raise self.broken.with_traceback(None)
            if not self._opened:
                try:
                    async with self._starts:
                        await self._agent.__aenter__()
                except DragomanError as error:
                    self.broken = error
                    raise
                self._opened = True
        return self._agent

    def note(self, error: Exception) -> None:
        """A job here ended with this."""
        if isinstance(error, CrashLoop):
            self.broken = error

    async def aclose(self, ends: asyncio.Semaphore) -> None:
        async with ends:
            if self._opened:
                await self._agent.__aexit__()

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """The smallest is the one to use: sound, with little to do, and rather one that runs already."""
        return self.broken is not None, self.load, not self._opened


def best(seats: Sequence[Seat]) -> Seat:
    return min(seats, key=lambda seat: seat.rank)
