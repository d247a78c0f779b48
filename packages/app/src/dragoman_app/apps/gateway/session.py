"""A session of the gateway: its owner, who decides in it, and how a turn runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import aclosing
from typing import TypeAlias

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.supervision.session import SupervisedSession
from dragoman_app.apps.chat.changes import TurnSnapshot
from dragoman_app.apps.gateway.report import (
    LONGEST_TITLE,
    RefusalReport,
    TurnCollector,
    TurnEvent,
    TurnReport,
)
from dragoman_local.workspace.policy.permission_service import LocalDesk, LocalUser
from dragoman_local.workspace.snapshots import FileChange

EventListener: TypeAlias = Callable[[TurnEvent], Awaitable[None]]
"""Called with each event. The agent waits until it returns."""

QUIET = 0.08
"""The seconds without an update after which an agent that has answered is done."""

LINGER = 2.0
"""The most seconds of updates after the answer, because some agents never stop."""

MOST_NOTES = 20


class SessionBusy(LocalMistake):
    """The session already runs a turn."""


class GatewaySession:
    """A session of the gateway, made by `Gateway.open_session`."""

    desk: LocalDesk
    """The permission desk of the session."""
    supervised: SupervisedSession

    def __init__(self, *, owner: Hashable, user: LocalUser, cwd: str) -> None:
        self.owner = owner
        self.user = user
        self.cwd = cwd
        self.is_busy = False
        self.used_at = asyncio.get_running_loop().time()
        self.turns = 0
        self.stored_id: str | None = None
        """The id by which the agent is asked for it, while it is brought back."""
        self.notes: list[str] = []
        self._snapshot = TurnSnapshot(cwd, self.note)

    @property
    def id(self) -> str:
        """The agent's id of the session; it changes when the agent has lost its context."""
        return self.supervised.id

    def note(self, text: str) -> None:
        """Keep a note for the report of the next turn."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    async def turn(
        self,
        content: Sequence[v1.ContentBlock],
        on_event: EventListener,
        *,
        watch_files: bool = False,
    ) -> TurnReport:
        """Run one turn. Cancelling the awaiting task cancels the turn. `watch_files`
        reports changes on disk.
        """
        if self.is_busy:
            raise SessionBusy("a turn is running in this session")
        self.is_busy = True
        self.desk.permissions.denials.clear()
        self.desk.questions.open.clear()
        self.supervised.late.clear()
        try:
            if watch_files:
                await self._snapshot.take()
            collector = TurnCollector()
            result = await self._drive(content, collector, on_event)
            return self._report(result, collector, await self._compare())
        finally:
            self.desk.permissions.end_turn()
            self.turns += 1
            self.used_at = asyncio.get_running_loop().time()
            self.is_busy = False
            await self._snapshot.aclose()

    async def _drive(
        self, content: Sequence[v1.ContentBlock], collector: TurnCollector, on_event: EventListener
    ) -> TurnResult:
        turn = self.supervised.prompt(*content, keep_text=False)
        async with aclosing(aiter(turn)) as updates:
            async for update in updates:
                event = collector.take(update)
                if event is not None:
                    await on_event(event)
        loop = asyncio.get_running_loop()
        give_up = loop.time() + LINGER
        # Some agents speak on after their answer: until they pause, what they say belongs to this turn.
        while self.supervised.life.is_alive and loop.time() < give_up:
            await asyncio.sleep(QUIET)
            if not self.supervised.late:
                break
            while self.supervised.late:
                event = collector.take(self.supervised.late.popleft())
                if event is not None:
                    await on_event(event)
        return turn.result

    async def _compare(self) -> Sequence[FileChange]:
        changes = await self._snapshot.compare()
        for text in () if changes is None else changes.notes:
            self.note(text)
        return () if changes is None else changes.changed

    def _report(
        self, result: TurnResult, collector: TurnCollector, changes: Sequence[FileChange]
    ) -> TurnReport:
        refusals = [
            RefusalReport(
                what=_what(question.title, question.paths, question.kind),
                why=decision.why,
                remedy=decision.remedy,
            )
            for question, decision in self.desk.permissions.denials
        ]
        refusals += [
            RefusalReport(what="a question of the agent", why=str(question["why"]))
            for question in self.desk.questions.open
        ]
        notes, self.notes = self.notes, []
        return TurnReport(
            session_id=self.id,
            stop_reason=result.stop_reason,
            text=collector.text,
            is_cut=collector.is_cut,
            calls=collector.calls,
            plan=collector.plan,
            changes=changes,
            refusals=refusals,
            notes=notes,
            usage=result.usage,
        )


def _what(title: str, paths: Sequence[str], kind: str) -> str:
    return (title or " ".join((kind, *paths)))[:LONGEST_TITLE]
