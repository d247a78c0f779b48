"""A session of the gateway: whose it is, who decides in it, and how a turn in it is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeAlias

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.supervision.session import SupervisedSession
from dragoman_app.apps.gateway.report import (
    LONGEST_TITLE,
    ChangeReport,
    RefusalReport,
    TurnCollector,
    TurnEvent,
    TurnReport,
)
from dragoman_app.apps.run.changes import is_our_file
from dragoman_local.workspace.policy.elicitation import ElicitationService, FormAsker
from dragoman_local.workspace.policy.permission_prompt import Asker
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.snapshot_entries import SnapshotSettings
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot

EventListener: TypeAlias = Callable[[TurnEvent], Awaitable[None]]
"""Hears of each event. While it waits, the agent waits."""

QUIET = 0.08
"""Seconds without an update after which an agent that has answered has said everything."""

LINGER = 2.0
"""Seconds that it may go on talking after its answer, because some never stop."""

SNAPSHOT = SnapshotSettings(seconds=3.0)
"""Somebody waits for the turn to begin: a folder that takes longer is not looked at, and that is told."""

MOST_NOTES = 20


class SessionBusy(LocalMistake):
    """A turn runs in the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayUser:
    """Who answers an agent's questions; nobody, where there is None, and then the policy decides alone."""

    permissions: Asker | None = None
    forms: FormAsker | None = None


class GatewaySession:
    """Made by `Gateway.open_session`."""

    def __init__(
        self,
        *,
        owner: Hashable,
        user: GatewayUser,
        cwd: str,
        desk: PermissionService,
        questions: ElicitationService,
    ) -> None:
        self.owner = owner
        self.user = user
        self.cwd = cwd
        self.desk = desk
        self.questions = questions
        self.is_busy = False
        self.used_at = asyncio.get_running_loop().time()
        self.turns = 0
        self.stored_id: str | None = None
        """The id by which the agent is asked for it, while it is brought back."""
        self.notes: list[str] = []
        self._session: SupervisedSession | None = None

    @property
    def supervised(self) -> SupervisedSession:
        assert self._session is not None
        return self._session

    @supervised.setter
    def supervised(self, session: SupervisedSession) -> None:
        self._session = session

    @property
    def id(self) -> str:
        """What the agent calls it; another name after the agent has lost its context."""
        return self.supervised.id

    def note(self, text: str) -> None:
        """Keep a note for the report of the next turn that ends."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    async def turn(
        self,
        content: Sequence[v1.ContentBlock],
        on_event: EventListener,
        *,
        watch_files: bool = False,
        diffs: bool = False,
    ) -> TurnReport:
        """Take one turn. To cancel the task that awaits it cancels the turn. `watch_files` reports what
        changed on disk, and `diffs` how.
        """
        if self.is_busy:
            raise SessionBusy("a turn is running in this session")
        self.is_busy = True
        self.desk.denials.clear()
        self.questions.open.clear()
        self.supervised.late.clear()
        snapshot = None
        try:
            snapshot = await self._look() if watch_files else None
            collector = TurnCollector()
            result = await self._drive(content, collector, on_event)
            changes = [] if snapshot is None else await self._compare(snapshot, diffs=diffs)
            return self._report(result, collector, changes)
        finally:
            self.desk.end_turn()
            self.turns += 1
            self.used_at = asyncio.get_running_loop().time()
            self.is_busy = False
            if snapshot is not None:
                await snapshot.aclose()

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

    async def _look(self) -> Snapshot | None:
        try:
            return await take_snapshot([self.cwd], settings=SNAPSHOT)
        except (LocalMistake, OSError) as error:
            self.note(f"what changes on disk cannot be told: {error}")
            return None

    async def _compare(self, snapshot: Snapshot, *, diffs: bool) -> list[ChangeReport]:
        try:
            changes = await snapshot.compare()
        except (LocalMistake, OSError) as error:
            self.note(f"what has changed on disk cannot be told: {error}")
            return []
        for text in changes.notes:
            self.note(text)
        return [
            ChangeReport(
                path=change.path,
                kind=change.kind,
                lines_added=change.lines_added,
                lines_removed=change.lines_removed,
                diff=change.diff if diffs else None,
            )
            for change in changes.files
            if not is_our_file(change.path)
        ]

    def _report(
        self, result: TurnResult, collector: TurnCollector, changes: list[ChangeReport]
    ) -> TurnReport:
        refusals = [
            RefusalReport(what=_what(question.title, question.paths, question.kind), why=decision.why)
            for question, decision in self.desk.denials
        ]
        refusals += [
            RefusalReport(what="a question of the agent", why=str(question["why"]))
            for question in self.questions.open
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
