"""An event and a lock for things that exist in thousands, such as sessions.

`LazyEvent` costs little while nobody waits for it. `KeyedLock` is kept by a key (the id of a session) and
knows whether it is in use, so that its keeper can drop it. `asyncio.Lock.locked` says no while the lock
passes from one task to the next: whoever dropped it then would let two in at once.
"""

from __future__ import annotations

import asyncio


class LazyEvent:
    """Like `asyncio.Event`, which takes a kilobyte from the start."""

    __slots__ = ("_event", "_is_set")

    def __init__(self, *, is_set: bool = False) -> None:
        self._is_set = is_set
        self._event: asyncio.Event | None = None

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        event, self._event = self._event, None
        if event is not None:
            event.set()

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        """Wait until the event is set; return at once if it is."""
        if not self._is_set:
            if self._event is None:
                self._event = asyncio.Event()
            await self._event.wait()


class KeyedLock:
    """An async context manager: one task is inside at a time, in order of arrival."""

    __slots__ = ("_lock", "_users")

    def __init__(self) -> None:
        self._lock: asyncio.Lock | None = None  # made when somebody comes: there are many of these
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
