"""One agent, kept running, for callers that speak another protocol: the part that all such doors share.

    async with Gateway(target, rules, cwd="/project") as gateway:
        session = await gateway.open_session(cwd="/project", owner=client)
        report = await session.turn([text], on_event)

The agent is started when it is first needed, watched, and started again after a death. Sessions belong to an
owner, and nobody else finds them. They are bounded in number: the session that was idle for longest is closed
for a new one. What the agent wants to do is decided by the policy of the session's folder, and by the
session's user where the policy says to ask. Leaving the block ends the agent and all that it has started.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Hashable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from msgspec.structs import replace

from dragoman import Client, supervised
from dragoman.errors import CrashLoop, DragomanError, LocalMistake, LoginRequired
from dragoman.schema import v1
from dragoman.sdk.supervision.agent_start import Startable
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from dragoman.transport.contract import Transport
from dragoman.transport.file_outlet import stderr_writer
from dragoman.version import VERSION
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.gateway.session import GatewaySession, GatewayUser, SessionBusy
from dragoman_app.apps.login_methods import login_hint, login_methods
from dragoman_app.apps.run.outcome import RunOutcome, outcome_of_error, outcome_of_login
from dragoman_app.apps.run.plan import load_chosen_policy
from dragoman_app.apps.run.session import file_settings
from dragoman_app.apps.target import ChosenAgent
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.audit import AuditLog, write_approve_mode
from dragoman_local.workspace.policy.elicitation import ElicitationService
from dragoman_local.workspace.policy.options import select_option
from dragoman_local.workspace.policy.permission_service import PermissionService, policy_refusal
from dragoman_local.workspace.policy.policy import Approve
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.remembered_rules import RememberedRules
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.remote_access import serve_decisions
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace

MOST_SESSIONS = 64
"""Sessions that are open at once, of all owners."""

LOGIN_SECONDS = 300.0
"""A gateway shows its callers no login: an agent that waits for one is refused, with the command that logs
in.
"""

CLOSE_SECONDS = 5.0
"""What closing a session may take; it is forgotten all the same."""

NOBODY = GatewayUser()


class TooManySessions(LocalMistake):
    """All sessions are at work, so none can be closed for another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayRules:
    """What was said about permissions and limits on the command line."""

    policy: str | None = None
    """The absolute path of a file."""
    approve: Approve | None = None
    shell_lines: bool = False
    silence: float | None = None
    """Seconds without any sign of the agent within a turn."""
    most_sessions: int = MOST_SESSIONS
    choices: frozenset[str] = frozenset()
    """What a caller may choose beside the model: `mode=plan`, or `mode` for every value of it."""


class Gateway:
    """Constructing one starts nothing."""

    def __init__(
        self, target: ChosenAgent, rules: GatewayRules, *, cwd: str, startable: Startable | None = None
    ) -> None:
        """`startable` is what is started instead of the target's command."""
        self.target = target
        self._startable = startable
        self.rules = rules
        self.cwd = cwd
        self._agent_stack = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._agent: SupervisedAgent | None = None
        self._sessions: dict[str, GatewaySession] = {}
        self._openings: list[GatewaySession] = []
        self._calls = ToolCalls()
        self._audit = AuditLog(policy_paths().audit)
        self._remembered_rules = RememberedRules(policy_paths().remembered_file)
        self.client = Client(
            "dragoman-gateway", version=VERSION, title="Dragoman", elicitation_modes=("form", "url")
        )
        self.client.update(self._calls.on_update)
        self.client.request_permission(self._on_permission_request)
        self.client.elicit(self._on_elicitation)
        self._workspace = Workspace(
            guard=self._guard, terminals=TerminalSettings(shell_lines=rules.shell_lines)
        )
        if self.is_local:
            self._workspace.serve(self.client)
        elif target.agent.place:
            serve_decisions(self.client, self._guard)

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._agent_stack.aclose()
        finally:
            await self._workspace.aclose()

    # The agent.

    @property
    def is_local(self) -> bool:
        """Whether the agent is a program on this machine, and so works with its files."""
        return self.target.agent.address is None and not self.target.agent.place

    async def agent(self) -> SupervisedAgent:
        """The agent, started. Raises `DragomanError` if it cannot be; whoever comes next may try again."""
        async with self._starting:
            if self._agent is None:
                supervisor = supervised(
                    self._startable or self.target.agent.command or self._dial,
                    client=self.client,
                    deadlines=Deadlines(silence=self.rules.silence, login=LOGIN_SECONDS),
                    cwd=self.cwd if self.is_local else None,
                    env=self.target.env,
                    on_event=self._on_supervision_event,
                    on_stderr=stderr_writer(),
                    dialect=self.target.dialect,
                    policy=self.rules.policy or "",
                )
                self._agent = await self._agent_stack.enter_async_context(supervisor)
        return self._agent

    async def stop_agent(self) -> None:
        """End the agent, unless a session needs it. The next session starts another."""
        async with self._starting:
            if not self._sessions and not self._openings:
                self._agent = None
                await self._agent_stack.aclose()

    def _dial(self) -> Transport:
        transport = self.target.open()
        assert not isinstance(transport, Sequence)
        return transport

    def _on_supervision_event(self, event: SupervisionEvent) -> None:
        if event.kind != "lost_context" or event.session_id is None or event.former_id is None:
            return
        session = self._sessions.pop(event.former_id, None)
        if session is None:
            return
        self._sessions[event.session_id] = session
        self._workspace.close(event.former_id)
        if self.is_local:
            self._workspace.open(event.session_id, cwd=session.cwd)
        session.note(f"the agent was restarted and has forgotten this session; it is {event.session_id} now")

    # Sessions.

    def find_session(self, session_id: str, *, owner: Hashable) -> GatewaySession | None:
        """An open session of this owner."""
        session = self._sessions.get(session_id)
        return session if session is not None and session.owner == owner else None

    def sessions_of(self, owner: Hashable) -> list[GatewaySession]:
        return [session for session in self._sessions.values() if session.owner == owner]

    async def open_session(
        self, *, cwd: str, owner: Hashable, user: GatewayUser = NOBODY, stored_id: str | None = None
    ) -> GatewaySession:
        """A new session, or one that the agent has stored. The caller has checked the folder."""
        session = self._make_session(cwd, owner, user)
        self._openings.append(session)
        try:
            agent = await self.agent()
            await self._make_room()
            if stored_id is None:
                await self._make(agent, session)
            else:
                await self._bring_back(agent, session, stored_id)
        except CrashLoop:
            if self._agent is not None:
                self._agent.forgive()  # whoever calls next may try again: perhaps somebody has repaired it
            raise
        finally:
            self._openings.remove(session)
        self._sessions[session.id] = session
        return session

    async def _make(self, agent: SupervisedAgent, session: GatewaySession) -> None:
        if not self.is_local:
            session.supervised = await agent.new_session(cwd=session.cwd)
            return
        with self._workspace.opening(cwd=session.cwd, settings=file_settings(agent.info)) as opening:
            session.supervised = await agent.new_session(cwd=session.cwd)
            opening.settle(session.id)

    async def _bring_back(self, agent: SupervisedAgent, session: GatewaySession, session_id: str) -> None:
        opening_ids = [opening.stored_id for opening in self._openings if opening is not session]
        if session_id in self._sessions or session_id in opening_ids:
            raise SessionBusy("this session is in use by somebody else")
        session.stored_id = session_id
        await agent.living_agent()
        capabilities = agent.handle.capabilities
        can_resume = "sessionCapabilities.resume" in capabilities
        if not can_resume and "loadSession" not in capabilities:
            raise UsageMistake(
                f"there is no open session {session_id!r}, and the agent cannot go on with a stored one",
                "leave `session` out to begin a new one",
            )
        if self.is_local:
            self._workspace.open(session_id, cwd=session.cwd, settings=file_settings(agent.info))
        try:
            how = agent.resume_session if can_resume else agent.load_session
            session.supervised = await how(session_id, cwd=session.cwd)
        except BaseException:
            self._workspace.close(session_id)
            raise

    def _make_session(self, cwd: str, owner: Hashable, user: GatewayUser) -> GatewaySession:
        approve = self.rules.approve or (None if user.permissions is not None else "reads")
        name = self.target.agent.name
        write_approve_mode("gateway", self.rules.approve, agent=name)
        desk = PermissionService(
            load_chosen_policy([cwd], file=self.rules.policy, approve=approve),
            asker=user.permissions,
            audit=self._audit,
            remembered_rules=self._remembered_rules,
            agent=self.target.agent.identity,
            roots=[cwd],
            find_tool_call=self._calls.find_call,
        )
        questions = ElicitationService(asker=user.forms, agent=name)
        return GatewaySession(owner=owner, user=user, cwd=cwd, desk=desk, questions=questions)

    async def _make_room(self) -> None:
        while len(self._sessions) + len(self._openings) > self.rules.most_sessions:
            idle_sessions = [session for session in self._sessions.values() if not session.is_busy]
            if not idle_sessions:
                raise TooManySessions(f"{self.rules.most_sessions} sessions are at work; try again later")
            await self.close_session(min(idle_sessions, key=lambda session: session.used_at))

    async def close_session(self, session: GatewaySession) -> None:
        """Free it at the agent, as far as the agent can; a turn in it is cancelled."""
        self._sessions.pop(session.id, None)
        self._workspace.close(session.id)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await session.supervised.close()
        except (DragomanError, TimeoutError):
            pass  # nobody finds it any more, and that is what counts

    async def close_sessions_of(self, owner: Hashable) -> None:
        for session in self.sessions_of(owner):
            await self.close_session(session)

    # Questions of the agent.

    def _session_of(self, session_id: object) -> GatewaySession | None:
        """The session that a question is about. An agent may ask before we have learned the session's id; if
        a single one is being opened, it is meant.
        """
        session = self._sessions.get(session_id) if isinstance(session_id, str) else None
        if session is None and len(self._openings) == 1:
            return self._openings[0]
        return session

    async def _on_permission_request(
        self, request: v1.RequestPermissionRequest
    ) -> v1.RequestPermissionResponse:
        session = self._session_of(request.session_id)
        return select_option(None) if session is None else await session.desk.permission(request)

    async def _guard(self, access: Access) -> None:
        session = self._session_of(access.session_id)
        if session is None:
            raise policy_refusal()
        await session.desk.guard(access)

    async def _on_elicitation(self, request: v1.CreateElicitationRequest) -> v1.CreateElicitationResponse:
        session = self._session_of(getattr(request, "session_id", None))
        return v1.ElicitationCancelAction() if session is None else await session.questions.elicit(request)

    # What went wrong.

    def explain(self, error: DragomanError) -> RunOutcome:
        """What a caller is told of an error: its name, what happened, and what to do next. A caller may be
        somebody else: what looks like a secret in the agent's last words is covered.
        """
        outcome = self._outcome_of(error)
        return replace(outcome, message=None if outcome.message is None else redact(outcome.message))

    def _outcome_of(self, error: DragomanError) -> RunOutcome:
        if isinstance(error, CrashLoop) and self._agent is not None:
            self._agent.forgive()
        if not isinstance(error, LoginRequired):
            return outcome_of_error(error)
        methods = [] if self._agent is None else login_methods(self._agent.handle)
        hint = login_hint(
            self.target.agent_name,
            methods,
            allow=self.target.agent.allow,
            agent_variables=self.target.env,
            ours=os.environ,
            knows_terminal=False,
        )
        return outcome_of_login(error, hint)
