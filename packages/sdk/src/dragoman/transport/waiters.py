"""Coroutines that wait for the same moment, and wake together.

An `asyncio.Event` that is always set and cleared again would do the same; this says what it is, costs
nothing while nobody waits, and leaves nothing behind when a waiter is cancelled.
"""

from __future__ import annotations

import asyncio


class Waiters:
    """Lets coroutines `wait` until another one calls `wake`."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        finally:
            if future in self._futures:
                self._futures.remove(future)

    def wake(self) -> None:
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)
