"""The order of steps: connect, open a session, prompt, wait for silence, check the changes.

Every wait here has a deadline (the handshake, every call, the silence within a turn) or an owner: `RunStop`,
which cancels the task that runs this, and standard output, whose reader sets the pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from dragoman import connect
from dragoman.dialect import DialectDecision, Ledger, LedgerEntry
from dragoman.errors import DragomanError, LoginRequired
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle, Session
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.connect import UNREADABLE, BoundedNotes, ConnectContext
from dragoman.sdk.login import call_with_login
from dragoman.transport.tapped_transport import Tap
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run import events
from dragoman_app.apps.run.attach import blocks_of
from dragoman_app.apps.run.changes import (
    look_before,
    look_before_there,
    tell_changes,
    turn_start,
    wait_for_look,
)
from dragoman_app.apps.run.disk_changes import ChangesReport
from dragoman_app.apps.run.early_agent import EarlyAgent
from dragoman_app.apps.run.history import RunHistory
from dragoman_app.apps.run.lend import LentWorkspace
from dragoman_app.apps.run.login import StartAgain, make_login
from dragoman_app.apps.run.narrate import now, raw
from dragoman_app.apps.run.outcome import (
    RunOutcome,
    outcome_of_changes,
    outcome_of_error,
    outcome_of_login,
    outcome_of_turn,
)
from dragoman_app.apps.run.output import OutputWriter
from dragoman_app.apps.run.plan import RunPlan, SessionRequest
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_app.apps.run.session import open_session, settle
from dragoman_app.apps.run.steering import LineSteering
from dragoman_app.apps.run.stop import RunStop
from dragoman_app.apps.run.subagents import FamilyNarrator
from dragoman_app.apps.turn_memory import TurnMemory
from dragoman_local.known import AgentSource
from dragoman_local.workspace.remote_changes import DiskSnapshot

if TYPE_CHECKING:
    from dragoman_app.apps.run.handover import RunRecord
    from dragoman_local.journal.brief import ConversationBrief

QUIET = 0.08
"""The seconds without a frame after which an agent that has answered is done."""

REPLAY = 0.4
"""The seconds in which a loaded session may begin a replay, which should come before the answer."""

LINGER = 2.0
"""The most seconds of updates after the answer, because some agents never stop."""


class RunStage(NamedTuple):
    """The state that stays when another agent continues the run."""

    reporter: RunReporter
    output: OutputWriter
    stop: RunStop
    steering: LineSteering | None


class RunDriver:
    """One run."""

    def __init__(
        self,
        plan: RunPlan,
        stage: RunStage,
        *,
        early: EarlyAgent,
        record: RunRecord | None = None,
    ) -> None:
        """`record` receives all messages, for another agent if this one can't continue."""
        self._plan = plan
        self._early = early
        self._reporter, self._output, self._stop, self._steering = stage
        self._narrator = FamilyNarrator()
        self._agent: AgentHandle | None = None
        self.session_id: str | None = None
        self._brief: ConversationBrief | None = None
        self._record = record
        self.stream = ""
        """This run in the history."""
        self._logged_in = False  # in a terminal, which is done once

    async def run(self) -> RunOutcome:
        plan = self._plan
        async with RunHistory(
            self._reporter, record=plan.record, look_up=plan.continue_ or plan.record or bool(plan.source)
        ) as history:
            self.stream = history.stream
            self._brief = await self._find_brief(history)
            lending = LentWorkspace(plan, self._reporter, on_open_question=self._stop.question_left_open)
            state = "failed"
            try:
                outcome = await self._connect(lending, history)
                state = outcome.name
            except LoginRequired as error:
                hint = plan.target.login_hint(self._agent, knows_terminal=plan.is_attended)
                outcome = outcome_of_login(error, hint)
                state = outcome.name
            except DragomanError as error:
                state = outcome_of_error(error).name
                raise
            finally:
                await history.describe(agent=self._agent_name(), state=self._stop.reason or state)
            return outcome

    @property
    def _is_remote(self) -> bool:
        """Whether the agent and its files are on another machine or in a container."""
        return bool(self._plan.target.agent.place)

    async def _find_brief(self, history: RunHistory) -> ConversationBrief | None:
        plan = self._plan
        if not plan.source:
            return plan.brief
        from dragoman_app.apps.recorded_sessions import SessionMistake
        from dragoman_app.apps.run.handover import tell_handover

        agent, source, brief = "", plan.source, plan.brief
        if brief is None:
            try:
                info, brief = await history.find_source(plan.source, plan.session_request.cwd)
            except SessionMistake as mistake:
                raise UsageMistake(str(mistake), "choose a session from `dragoman sessions`") from None
            agent, source = info.agent, info.stream
            tell_handover(self._reporter, plan, agent=agent, reason="recorded", brief=brief)
        await history.note_handover(source, agent=plan.target.agent.name)
        return brief

    async def _connect(self, lending: LentWorkspace, history: RunHistory) -> RunOutcome:
        def on_stderr(chunk: bytes) -> None:
            self._reporter.stderr(chunk)
            history.stderr(chunk)

        def start() -> ConnectContext:
            return connect(
                self._early.take(on_stderr) or self._plan.target.open(),
                client=lending.client,
                limits=self._plan.limits,
                cwd=None if self._is_remote else self._plan.session_request.cwd,
                env=self._plan.target.env,
                on_stderr=on_stderr,
                on_stray=BoundedNotes(self._reporter.warn),
                tap=_join_taps(history.tap, None if self._record is None else self._record.tap),
                dialect=self._plan.target.dialect,
                ledger=Ledger(on_loss=self._on_loss, on_decision=self._on_dialect),
                policy=self._plan.rules.policy or "",
            )

        async with lending.local.workspace:
            try:
                return await self._talk(start(), lending, history)
            except StartAgain:
                self._logged_in = True
                self._reporter.note("logged in; the agent is started again")
                return await self._talk(start(), lending, history)

    async def _talk(
        self, connecting: ConnectContext, lending: LentWorkspace, history: RunHistory
    ) -> RunOutcome:
        async with connecting as agent:
            self._owns(agent)
            self._introduce(agent)
            agent.side.on_deviation = BoundedNotes(self._reporter.warn, UNREADABLE)
            lending.subagents = agent.subagents
            lending.on_update = self._on_update
            request = await self._session_request(agent, history)
            return await self._converse(agent, lending, request, history.stream)

    async def _session_request(self, agent: AgentHandle, history: RunHistory) -> SessionRequest:
        request = self._plan.session_request
        if not self._plan.continue_:
            return request
        names = {self._agent_name(), self._plan.target.agent.name}
        session_id = await history.last_session(names, request.cwd)
        if session_id is None:
            raise UsageMistake("this agent has no session to continue in this folder", "leave --continue out")
        return replace(request, session_id=session_id)

    async def _converse(
        self, agent: AgentHandle, lending: LentWorkspace, request: SessionRequest, stream: str
    ) -> RunOutcome:
        blocks = blocks_of(self._plan.attachments, agent.capabilities)
        is_attended = self._plan.is_attended and not self._logged_in
        login = make_login(agent, self._plan.target, self._reporter, is_attended=is_attended)
        roots = [] if self._is_remote else self._plan.roots
        start = turn_start(self._plan)
        memory = TurnMemory(self._reporter.warn, roots=roots, stream=stream)
        look = look_before(roots, self._reporter, start, is_strict=self._plan.is_strict, store=memory.store)
        looking = asyncio.create_task(look, name="snapshot")
        try:
            session, how = await call_with_login(
                agent,
                lambda: open_session(agent, lending.local, request),
                login,
            )
            self.session_id = self._narrator.session_id = session.id
            self._reporter.emit(
                events.SessionEvent(
                    time=now(),
                    session_id=session.id,
                    how=how,
                    modes=UNSET if session.modes is None else raw(session.modes),
                    config_options=raw(session.config_options) if session.config_options else UNSET,
                )
            )
            if how == "loaded" and not session.late:
                await self._hear_replay(session)
            self._tell_late(session, "before" if how == "new" else "replay")
            await settle(session, request)
            self._tell_late(session, "before")
            if self._is_remote:
                there = look_before_there(agent.call, session.id, self._reporter)
                looking, start = asyncio.create_task(there, name="snapshot"), None
            await wait_for_look(looking, start)
            note = await memory.note(session.id)
            await memory.begin(
                session.id, looking, agent=self._plan.target.agent.name, prompt=self._plan.prompt
            )
            past = [] if self._brief is None else [v1.TextContent(text=self._brief.text)]
            if note:
                self._reporter.note(f"sent to the agent: {note}")
                past.append(v1.TextContent(text=note))
            content = [*past, v1.TextContent(text=self._plan.prompt), *blocks]
            try:
                result = await call_with_login(agent, lambda: self._turn(session, content), login)
                await self._listen(session)
            except DragomanError:
                await self._tell_changes(looking, lending, session, memory)
                raise
            changes = await self._tell_changes(looking, lending, session, memory)
        finally:
            self._emit(self._narrator.tell_lost())
            await _put_away(looking, memory)
        outcome = outcome_of_turn(
            result,
            last_was_denied=lending.decisions.last_denier == "policy",
            last_refusal=lending.decisions.last_refusal,
        )
        return outcome_of_changes(outcome, changes, is_strict=self._plan.is_strict)

    async def _tell_changes(
        self,
        looking: asyncio.Task[DiskSnapshot | None],
        lending: LentWorkspace,
        session: Session,
        memory: TurnMemory,
    ) -> ChangesReport:
        snapshot = await looking
        await memory.begun()
        if snapshot is None:  # what should be put back is not known
            return ChangesReport(unasked=None, stuck=int(self._plan.changes == "revert"))
        return await tell_changes(
            snapshot,
            self._reporter,
            self._plan,
            effects=lending.decisions.effects,
            modes=session.modes,
        )

    async def _turn(self, session: Session, blocks: list[v1.ContentBlock]) -> TurnResult:
        listener = self._reporter.listener
        meta = None if listener is None else listener.on_prompt(session.id)
        turn = session.prompt(*blocks, silence=self._plan.silence, keep_text=False, meta=meta)
        cancelling: list[asyncio.Task[None]] = []
        self._stop.turn(lambda: cancelling.append(asyncio.create_task(session.cancel())))
        steering = self._steering and asyncio.create_task(self._steering.run(session), name="steering")
        try:
            async for note in turn.notifications():
                self._emit(self._narrator.tell(note))
                if self._output.is_behind:
                    await self._output.flow()
        finally:
            self._stop.turn(None)
            if steering:
                steering.cancel()
                await asyncio.wait((steering,))
            # An agent that is gone cannot be told; the turn itself says so.
            await asyncio.gather(*cancelling, return_exceptions=True)
        return turn.result

    async def _hear_replay(self, session: Session) -> None:
        """Some agents replay only after they answered; what they replay is not what they will say."""
        loop, link = asyncio.get_running_loop(), session.agent.link
        began = loop.time()
        while link.close_reason is None and loop.time() < began + LINGER:
            quiet_at = link.last_heard_at + QUIET if session.late else began + REPLAY
            if loop.time() >= quiet_at:
                return
            await asyncio.sleep(min(QUIET, quiet_at - loop.time()))

    async def _listen(self, session: Session) -> None:
        """Some agents speak on after their answer: until they pause, what they say belongs to this run. An
        agent that promises not to is taken at its word, unless it has subagents, who promised nothing.
        """
        if session.agent.answers_last and not session.agent.subagents:
            self._tell_late(session, "after")
            await self._output.flow()
            return
        loop, link = asyncio.get_running_loop(), session.agent.link
        give_up = loop.time() + LINGER
        while True:
            self._tell_late(session, "after")
            await self._output.flow()
            quiet_at = min(give_up, link.last_heard_at + QUIET)
            if link.close_reason is not None or loop.time() >= quiet_at:
                return
            await asyncio.sleep(quiet_at - loop.time())

    def _tell_late(self, session: Session, phase: events.Phase) -> None:
        while session.late:
            note = v1.SessionNotification(session_id=session.id, update=session.late.popleft())
            self._emit(self._narrator.tell(note, phase))
        self._emit(self._narrator.tell_late(phase))

    def _emit(self, told: Iterable[events.AnyEvent]) -> None:
        for event in told:
            self._reporter.emit(event)

    def _on_update(self, notification: v1.SessionNotification) -> None:
        """An update of a subagent that comes outside the turn is told with what the agent says then."""
        assert self._agent is not None
        if notification.session_id in self._agent.subagents:
            root = self._agent.subagents.root_of(notification.session_id)
            session = self._agent.side.sessions.get(root)
            if session is None or session.turn is None or not session.turn.listens:
                self._narrator.on_late(notification)

    def _agent_name(self) -> str:
        """How the history calls it. A command line may hold a secret, and its first word says little."""
        agent = self._plan.target.agent
        info = None if self._agent is None else self._agent.info
        if agent.source in (AgentSource.COMMAND, AgentSource.ADDRESS) and info is not None:
            return info.name
        return agent.name

    def _on_dialect(self, decision: DialectDecision) -> None:
        if decision.dialect != "v1":
            self._reporter.note(f"translated: {decision.text}")

    def _on_loss(self, entry: LedgerEntry) -> None:
        self._reporter.note(f"lost in translation: {entry.what}: {entry.done}")

    def _owns(self, agent: AgentHandle) -> None:
        self._agent = agent
        tree = getattr(agent.link.transport, "tree", None)
        if tree is not None:
            self._stop.owns(tree.kill)

    def _introduce(self, agent: AgentHandle) -> None:
        info = agent.info
        self._reporter.emit(
            events.AgentEvent(
                time=now(),
                name=None if info is None else info.name,
                version=None if info is None else info.version,
                title=None if info is None or not info.title else info.title,
                protocol_version=agent.protocol_version,
                capabilities={} if agent.capabilities.struct is UNSET else raw(agent.capabilities.struct),
                auth_methods=[method.id for method in agent.auth_methods],
            )
        )


def _join_taps(*taps: Tap | None) -> Tap | None:
    listeners = [tap for tap in taps if tap is not None]

    def tell_all(direction: Literal["to_agent", "to_client"], block: bytes) -> None:
        for listener in listeners:
            listener(direction, block)

    return tell_all if len(listeners) > 1 else next(iter(listeners), None)


async def _put_away(looking: asyncio.Task[DiskSnapshot | None], memory: TurnMemory) -> None:
    """However a run ends, and though it is told to once more, it leaves nothing of its snapshot on disk."""
    putting = asyncio.create_task(_forget(looking, memory), name="forget the snapshot")
    cancellation: asyncio.CancelledError | None = None
    while not putting.done():
        try:
            await asyncio.wait((putting,))
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        raise cancellation


async def _forget(looking: asyncio.Task[DiskSnapshot | None], memory: TurnMemory) -> None:
    looking.cancel()
    await asyncio.wait((looking,))
    if not looking.cancelled() and looking.exception() is None:
        snapshot = looking.result()
        if snapshot is not None:
            await snapshot.aclose()
    await memory.aclose()
