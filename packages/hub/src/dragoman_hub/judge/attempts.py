"""Lines of the audit log about what is no act of an agent: changes of modes, and people who were refused."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_hub.engine.live_session import LiveSession
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, attempt_entry

log = logging.getLogger(__name__)

REFUSALS: Final = 20
REFUSAL_SECONDS: Final = 60.0
MOST_SORTS: Final = 256
"""Lines about refusals of one token and one method, in what time, and how many of those pairs are counted."""


class AttemptLog:
    """Written in the threads of the judge."""

    def __init__(self, audit: AuditLog | None, threads: ThreadPoolExecutor) -> None:
        self._audit = audit
        self._threads = threads
        self._refusals: dict[tuple[str, str], tuple[float, int]] = {}  # since when, and how many

    async def write_change(
        self, session: LiveSession, method: str, title: str, *, person: str, error: str = ""
    ) -> None:
        """A client changes how its agent asks; `error` is what became of it. Raises `ErrorAnswer` if it
        cannot be written: then nothing is changed.
        """
        why = f"the agent refused: {error}" if error else "a client asked for it"
        entry = attempt_entry(
            method,
            title,
            outcome="deny" if error else "allow",
            why=why,
            person=person,
            agent=session.state.agent,
            session=session.id,
            kind="mode",
        )
        if not await asyncio.get_running_loop().run_in_executor(self._threads, self._append, entry):
            raise ErrorAnswer(INTERNAL_ERROR, "Internal error: the audit log cannot be written")

    def write_refusal(
        self, method: str, why: str, *, person: str = "", session: LiveSession | None = None, title: str = ""
    ) -> None:
        """Somebody was refused. Of one sort there are a few lines a minute at most: nobody can drive the rest
        out of the log that way.
        """
        if self._audit is None or not self._has_room(person, method):
            return
        entry = attempt_entry(
            method,
            title or method,
            outcome="deny",
            why=why,
            by="person" if person else "policy",
            person=person,
            agent="" if session is None else session.state.agent,
            session="" if session is None else session.id,
        )
        asyncio.get_running_loop().run_in_executor(self._threads, self._append, entry)

    def _has_room(self, person: str, method: str) -> bool:
        now = asyncio.get_running_loop().time()
        since, count = self._refusals.get((person, method), (now, 0))
        if now - since > REFUSAL_SECONDS:
            since, count = now, 0
        if len(self._refusals) > MOST_SORTS:
            self._refusals.clear()
        self._refusals[person, method] = (since, count + 1)
        return count < REFUSALS

    def _append(self, entry: AuditEntry) -> bool:
        """Whether it is written down, or nothing is."""
        try:
            if self._audit is not None:
                self._audit.append(entry)
        except OSError:
            log.exception("the audit log cannot be written; nothing is permitted until it can")
            return False
        return True
