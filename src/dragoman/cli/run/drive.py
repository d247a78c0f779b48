"""The order of steps: connect, open a session, prompt, listen until it is quiet, look at what changed.

Every wait here has a deadline (the handshake, every call, the silence within a turn) or an owner: `Stop`,
which cancels the task that runs this, and standard output, whose reader sets the pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET

from dragoman import Limits, connect
from dragoman.cli.run import events
from dragoman.cli.run.attach import Attachment, blocks_of
from dragoman.cli.run.lend import Lending, Rules
from dragoman.cli.run.login import make_login
from dragoman.cli.run.narrate import Narrator, now, raw
from dragoman.cli.run.opening import Wanted, open_session, settle
from dragoman.cli.run.outcome import Outcome, outcome_of_turn
from dragoman.cli.run.output import Output
from dragoman.cli.run.permissions import Decisions
from dragoman.cli.run.reporter import Reporter
from dragoman.cli.run.stop import Stop
from dragoman.cli.run.target import Target
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.client.session import Session
from dragoman.sdk.login import logged_in
from dragoman.workspace.workspace import Workspace

QUIET = 0.08
"""Seconds without a frame after which an agent that has answered has said everything."""

LINGER = 2.0
"""Seconds that it may go on talking after its answer, because some never stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that the command line said, checked as far as that is possible without an agent."""

    target: Target
    prompt: str
    attachments: Sequence[Attachment]
    wanted: Wanted
    rules: Rules
    limits: Limits
    silence: float | None
    attended: bool
    """Whether a person sits at the terminal and can be asked."""


class Drive:
    """One run."""

    def __init__(self, plan: Plan, reporter: Reporter, output: Output, stop: Stop) -> None:
        self._plan = plan
        self._reporter = reporter
        self._output = output
        self._narrator = Narrator()
        self.session_id: str | None = None
        self._stop = stop

    async def run(self) -> Outcome:
        plan = self._plan
        roots = [plan.wanted.cwd, *plan.wanted.directories]
        lending = Lending(
            plan.rules,
            self._reporter,
            agent=plan.target.agent.name,
            roots=roots,
            on_open_question=self._stop.question_left_open,
        )
        async with lending.workspace as workspace:
            connecting = connect(
                plan.target.open(),
                client=lending.client,
                limits=plan.limits,
                cwd=plan.wanted.cwd,
                env=plan.target.env,
                on_stderr=self._reporter.stderr,
            )
            async with connecting as agent:
                self._owns(agent)
                self._introduce(agent)
                return await self._converse(agent, workspace, lending.decisions)

    async def _converse(self, agent: AgentHandle, workspace: Workspace, decisions: Decisions) -> Outcome:
        blocks = blocks_of(self._plan.attachments, agent.capabilities)
        login = make_login(agent, self._plan.target, self._reporter, attended=self._plan.attended)
        wanted = self._plan.wanted
        session, how = await logged_in(agent, lambda: open_session(agent, workspace, wanted), login)
        self.session_id = session.id
        self._reporter.emit(_opened(session, how))
        self._tell_late(session, "before" if how == "new" else "replay")
        await settle(session, wanted)
        self._tell_late(session, "before")
        content = [v1.TextContent(text=self._plan.prompt), *blocks]
        result = await logged_in(agent, lambda: self._turn(session, content), login)
        await self._listen(session)
        return outcome_of_turn(result, last_was_denied=decisions.last_was_denied)

    async def _turn(self, session: Session, blocks: list[v1.ContentBlock]) -> TurnResult:
        turn = session.prompt(*blocks, silence=self._plan.silence, keep_text=False)
        async with asyncio.TaskGroup() as group:
            self._stop.turn(lambda: _start(group, session))
            try:
                async for update in turn:
                    self._reporter.emit(self._narrator.tell(update))
                    if self._output.is_behind:
                        await self._output.flow()
            finally:
                self._stop.turn(None)
        return turn.result

    async def _listen(self, session: Session) -> None:
        """Some agents speak on after their answer: until they pause, what they say belongs to this run."""
        loop, link = asyncio.get_running_loop(), session.agent.link
        give_up = loop.time() + LINGER
        while True:
            self._tell_late(session, "after")
            await self._output.flow()
            quiet_at = min(give_up, link.heard + QUIET)
            if link.gone is not None or loop.time() >= quiet_at:
                return
            await asyncio.sleep(quiet_at - loop.time())

    def _tell_late(self, session: Session, phase: events.Phase) -> None:
        while session.late:
            self._reporter.emit(self._narrator.tell(session.late.popleft(), phase))

    def _owns(self, agent: AgentHandle) -> None:
        transport = agent.link.transport
        tree = getattr(getattr(transport, "inner", transport), "tree", None)
        if tree is not None:
            self._stop.owns(tree.kill)

    def _introduce(self, agent: AgentHandle) -> None:
        info = agent.info
        self._reporter.emit(
            events.Agent(
                time=now(),
                name=None if info is None else info.name,
                version=None if info is None else info.version,
                title=None if info is None or not info.title else info.title,
                protocol_version=agent.protocol_version,
                capabilities={} if agent.capabilities.typed is UNSET else raw(agent.capabilities.typed),
                auth_methods=[method.id for method in agent.auth_methods],
            )
        )


def _start(group: asyncio.TaskGroup, session: Session) -> None:
    group.create_task(session.cancel())


def _opened(session: Session, how: str) -> events.Session:
    return events.Session(
        time=now(),
        session_id=session.id,
        how=how,  # type: ignore[arg-type]  # one of the three
        modes=UNSET if session.modes is None else raw(session.modes),
        config_options=raw(session.config_options) if session.config_options else UNSET,
    )
