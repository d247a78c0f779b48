"""Where an agent's sessions are kept: one journal, opened when it is first needed and closed after its last
user.

A journal in a file belongs to the event loop that opened it, so each loop has its own. Sessions of different
agents may share a file; a stream is named after its agent and its session.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from dragoman.journal import Durability, Journal, SqliteJournal, open_journal
from dragoman.journal.history import history_path

Kept: TypeAlias = "Journal | str | os.PathLike[str] | None"


def sessions_path(environ: Mapping[str, str] | None = None) -> Path:
    """Where sessions are kept unless the agent says otherwise: beside this person's history."""
    return history_path(environ).with_name("sessions.db")


class JournalLender:
    """Lends the journal. Constructing one opens nothing."""

    def __init__(self, kept: Kept, *, agent: str, durability: Durability = "full") -> None:
        self.agent = agent
        self._durability = durability
        self._journal_given: Journal | None = None
        self._path: Path | None = None
        if kept is None or isinstance(kept, str | os.PathLike):
            self._path = None if kept is None else Path(kept)
        else:
            self._journal_given = kept
        self._opened: dict[asyncio.AbstractEventLoop, _Opened] = {}

    def stream(self, session_id: str) -> str:
        return f"{self.agent}/{session_id}"

    @property
    def leases(self) -> Path | None:
        """The folder of the leases; None if no other process can see the journal."""
        path = self._journal_given.path if isinstance(self._journal_given, SqliteJournal) else None
        if self._journal_given is None:
            path = self._where()
        return None if path is None else path.with_name(f"{path.name}-turns")

    async def borrow(self) -> Journal:
        """The journal, open; give it back when it is no longer needed."""
        if self._journal_given is not None:
            return self._journal_given
        loop = asyncio.get_running_loop()
        opened = self._opened.setdefault(loop, _Opened())
        opened.users += 1
        try:
            async with opened.lock:
                if opened.journal is None:
                    opened.journal = await open_journal(
                        self._where(), durability=self._durability
                    ).__aenter__()
            return opened.journal
        except BaseException:
            await self.give_back()
            raise

    async def give_back(self) -> None:
        loop = asyncio.get_running_loop()
        opened = self._opened.get(loop)
        if opened is None:
            return
        opened.users -= 1
        if opened.users == 0:
            async with opened.lock:
                if opened.users == 0 and self._opened.get(loop) is opened:
                    del self._opened[loop]
                    if opened.journal is not None:
                        await opened.journal.aclose()

    def _where(self) -> Path:
        return self._path or sessions_path()


class _Opened:
    """A journal that is open, or about to be."""

    def __init__(self) -> None:
        self.users = 0
        self.lock = asyncio.Lock()
        self.journal: SqliteJournal | None = None
