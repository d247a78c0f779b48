"""Entries of the audit log that are not actions of an agent: changes of modes, and refused people."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.rates import Buckets, Rate
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, attempt_entry

REFUSALS: Final = Rate(20, 60.0)
"""The most lines about refusals of one token and one method."""


class AttemptLog:
    """Writes to the log in the threads of the judge."""

    def __init__(self, audit: AuditLog | None, threads: ThreadPoolExecutor) -> None:
        self._audit = audit
        self._threads = threads
        self._refusals = Buckets(REFUSALS)

    async def write_change(
        self,
        session: LiveSession,
        method: str,
        title: str,
        *,
        person: str,
        error: str = "",
        kind: str = "mode",
    ) -> None:
        """Note that a client changes how its agent asks, or restores files; `error` is the result. Raises
        `ErrorAnswer` if writing fails: then nothing is changed.
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
            kind=kind,
        )
        if not await asyncio.get_running_loop().run_in_executor(self._threads, self._append, entry):
            raise ErrorAnswer(INTERNAL_ERROR, "Internal error: the audit log cannot be written")

    def write_refusal(
        self, method: str, why: str, *, person: str = "", session: LiveSession | None = None, title: str = ""
    ) -> None:
        """Note a refusal. Each kind has at most a few lines a minute: so nobody can push other entries out of
        the log.
        """
        if self._audit is None or self._refusals.take(f"{method} {person}"):
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

    def _append(self, entry: AuditEntry) -> bool:
        """Whether it is written down, or nothing is."""
        return self._audit is None or self._audit.has_written(entry)
