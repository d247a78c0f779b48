"""Erases sessions: every store registers a function that erases a session's data.

A store that keeps anything of a session besides its stream registers with `SessionEraser.register`. Whoever
forgets a session then forgets all of it, whether a command does or a hub.

A session is marked first, so that nobody lists it any more; then every store erases what it has; its stream
goes last. A process that is killed in between leaves the mark, and the next one finishes the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from dragoman.errors import JournalDamaged
from dragoman_local.journal.contract import Journal

FORGETTING = "forgetting"
"""The state of a stream whose session is being erased."""

AT_ONCE = 50
"""The most sessions to erase together: their remains in the index are removed once for all of them."""


class SessionNames(Struct, frozen=True):
    """All names of a session in any store."""

    stream: str
    agent_ids: tuple[str, ...] = ()
    """The agents' ids of it."""


EraseSessions: TypeAlias = Callable[[Sequence[SessionNames]], Awaitable[object]]
"""Erases a store's data of these sessions. A session that is unknown, or already erased, is not an error:
after a kill the same sessions come again.
"""


class SessionEraser:
    """Erases sessions from a journal and from every registered store."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._stores: list[EraseSessions] = []

    def register(self, erase: EraseSessions) -> None:
        """Register a store, which erases sessions too from now on."""
        self._stores.append(erase)

    async def erase(self, sessions: Sequence[SessionNames]) -> None:
        """Erase sessions together. Pass at most `AT_ONCE` at a time."""
        for session in sessions:
            with suppress(JournalDamaged):  # what is damaged can be erased, too
                if await self._journal.info(session.stream) is not None:
                    await self._journal.describe(session.stream, state=FORGETTING)
        for erase in self._stores:
            await erase(sessions)
        await asyncio.gather(*(self._journal.delete(session.stream) for session in sessions))
