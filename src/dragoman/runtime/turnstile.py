"""A lock that knows whether anybody holds it or waits for it.

`asyncio.Lock.locked` says no while the lock passes from one to the next: whoever threw it away then, because
nobody seems to need it, would let two in at once.
"""

from __future__ import annotations

import asyncio


class Turnstile:
    """`async with` it; one is inside at a time, in the order of their coming."""

    __slots__ = ("_lock", "_users")

    def __init__(self) -> None:
        self._lock: asyncio.Lock | None = None  # made when somebody comes: there are many turnstiles
        self._users = 0

    @property
    def in_use(self) -> bool:
        return self._users > 0

    async def __aenter__(self) -> None:
        self._users += 1
        if self._lock is None:
            self._lock = asyncio.Lock()
        try:
            await self._lock.acquire()
        except BaseException:
            self._users -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._users -= 1
        assert self._lock is not None
        self._lock.release()
        if not self._users:
            self._lock = None
