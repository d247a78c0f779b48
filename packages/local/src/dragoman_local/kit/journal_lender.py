"""The journal of an agent's sessions: opened on first use, and closed after its last user.

A journal in a file belongs to the event loop that opened it, so each loop has its own. Sessions of different
agents may share a file; a stream is named after its agent and its session.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from dragoman_local.journal import Durability, Journal, SqliteJournal, open_journal
from dragoman_local.journal.erasure import SessionNames
from dragoman_local.journal.history import history_path
from dragoman_local.kit.session_lock import SessionFileLock

JournalSource: TypeAlias = "Journal | str | os.PathLike[str] | None"


def sessions_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the default path of stored sessions: beside the user's history."""
    return history_path(environ).with_name("sessions.db")


async def erase_sessions(sessions: Sequence[SessionNames]) -> None:
    """Erase the data of this user's kit agents about these sessions: see `SessionEraser`."""
    path = sessions_path()
    if not path.exists():
        return
    async with open_journal(path) as journal:
        for name in {name for session in sessions for name in (session.stream, *session.agent_ids) if name}:
            for info in (await journal.list(session=name)).streams:
                await journal.delete(info.stream)
        await journal.scrub()


def is_turn_running(stream: str) -> bool:
    """Whether one of this user's kit agents runs a turn in this session now."""
    return SessionFileLock(leases_of(sessions_path()), stream).is_held_elsewhere()


def leases_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-turns")


class JournalLender:
    """Opens the journal for its users. Constructing opens nothing."""

    def __init__(self, source: JournalSource, *, agent: str, durability: Durability = "full") -> None:
        self.agent = agent
        self._durability = durability
        self._journal: Journal | None = None
        self._path: Path | None = None
        if source is None or isinstance(source, str | os.PathLike):
            self._path = None if source is None else Path(source)
        else:
            self._journal = source
        self._open_journals: dict[asyncio.AbstractEventLoop, _OpenJournal] = {}

    def stream(self, session_id: str) -> str:
        return f"{self.agent}/{session_id}"

    @property
    def leases(self) -> Path | None:
        """The folder of the locks; None if no other process can use the journal."""
        path = self._journal.path if isinstance(self._journal, SqliteJournal) else None
        if self._journal is None:
            path = self._where()
        return None if path is None else leases_of(path)

    async def borrow(self) -> Journal:
        """Return the open journal; give it back when it is no longer needed."""
        if self._journal is not None:
            return self._journal
        loop = asyncio.get_running_loop()
        lent = self._open_journals.setdefault(loop, _OpenJournal())
        lent.users += 1
        try:
            async with lent.lock:
                if lent.journal is None:
                    lent.journal = await open_journal(self._where(), durability=self._durability).__aenter__()
            return lent.journal
        except BaseException:
            await self.give_back()
            raise

    async def give_back(self) -> None:
        loop = asyncio.get_running_loop()
        lent = self._open_journals.get(loop)
        if lent is None:
            return
        lent.users -= 1
        if lent.users == 0:
            async with lent.lock:
                if lent.users == 0 and self._open_journals.get(loop) is lent:
                    del self._open_journals[loop]
                    if lent.journal is not None:
                        await lent.journal.aclose()

    def _where(self) -> Path:
        return self._path or sessions_path()


class _OpenJournal:
    """A journal that is open, or about to be."""

    def __init__(self) -> None:
        self.users = 0
        self.lock = asyncio.Lock()
        self.journal: SqliteJournal | None = None
