"""The plan of a turn: sent again whenever a step begins or ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dragoman import KitTurn
from dragoman.schema import v1


class Steps:
    """Steps in order; each goes from pending to in progress to completed."""

    def __init__(self, turn: KitTurn[Any], *names: str) -> None:
        self._turn = turn
        self._names = list(names)
        self._done_count = 0
        self._is_running = False

    async def tell(self) -> None:
        await self._turn.plan(
            v1.PlanEntry(content=name, priority="medium", status=self._status(at))
            for at, name in enumerate(self._names)
        )

    def _status(self, at: int) -> v1.PlanEntryStatus:
        if at < self._done_count:
            return "completed"
        return "in_progress" if at == self._done_count and self._is_running else "pending"

    @asynccontextmanager
    async def step(self, name: str | None = None) -> AsyncIterator[None]:
        """Begin the next step; `name` is a more exact title."""
        if name is not None:
            self._names[self._done_count] = name
        self._is_running = True
        await self.tell()
        yield
        self._is_running = False
        self._done_count += 1
        await self.tell()

    async def finish(self) -> None:
        """Complete all steps, even planned ones that were not needed."""
        if self._done_count < len(self._names):
            self._done_count, self._is_running = len(self._names), False
            await self.tell()
