"""A queue of messages with a limit in bytes: senders wait while it is full.

A single message may be larger than the room; it is let in when nothing else waits. Nothing here does IO.
"""

from __future__ import annotations

from collections import deque

from dragoman.transport.waiters import Waiters


class Inbox:
    """A bounded queue with any number of writers and one reader."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._over = False
        self._reason: BaseException | None = None
        self._waiters = Waiters()

    @property
    def has_room(self) -> bool:
        return self._over or not self._messages or self._bytes < self._room

    async def wait_for_room(self) -> None:
        while not self.has_room:
            await self._waiters.wait()

    def put(self, message: bytes) -> None:
        """Add a message even if there is no room: call it after `wait_for_room`."""
        if not self._over:
            self._messages.append(message)
            self._bytes += len(message)
            self._waiters.wake()

    def end(self, reason: BaseException | None = None) -> None:
        """Accept no more messages; the waiting ones can still be read."""
        if not self._over:
            self._over = True
            self._reason = reason
            self._waiters.wake()

    async def take(self) -> bytes | None:
        """Return the next message, or None at the end. Raises the reason of the end, if there is one."""
        while not self._messages and not self._over:
            await self._waiters.wait()
        if self._messages:
            message = self._messages.popleft()
            self._bytes -= len(message)
            self._waiters.wake()
            return message
        if self._reason is not None:
            raise self._reason
        return None
