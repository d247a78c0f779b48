"""One running agent for callers with another protocol: the part that all such servers share.

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
from collections.abc import Hashable
from contextlib import AsyncExitStack

from msgspec.structs import replace

from dragoman import Client, supervised
from dragoman.errors import CrashLoop, DragomanError, LocalMistake, LoginRequired
from dragoman.sdk.supervision.agent_start import Startable
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from dragoman.transport.file_outlet import stderr_writer
from dragoman.version import VERSION
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.gateway.session import GatewaySession, SessionBusy
from dragoman_app.apps.run.outcome import RunOutcome, outcome_of_error, outcome_of_login
from dragoman_app.apps.run.plan import check_policy
from dragoman_app.apps.target import ChosenAgent
from dragoman_local.known.identity import identity_of
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.local_client import LocalClient
from dragoman_local.workspace.policy.permission_service import NOBODY, LocalDesk, LocalUser, ReportedAuditLog
from dragoman_local.workspace.settings import LocalRules

MOST_SESSIONS = 64
"""The most open sessions, of all owners."""

LOGIN_SECONDS = 300.0
"""The login deadline. A gateway shows its callers no login: an agent that waits for one is refused, with the
command that logs in.
"""

CLOSE_SECONDS = 5.0
"""The most seconds for closing a session; it is forgotten in any case."""


class TooManySessions(LocalMistake):
    """All sessions are busy, so none can be closed for another one."""


class GatewayRules(LocalRules, frozen=True, kw_only=True):
    """Permissions and limits from the command line."""

    silence: float | None = None
    """The most seconds of silence from the agent during a turn."""
    most_sessions: int = MOST_SESSIONS
    choices: frozenset[str] = frozenset()
    """Options that a caller may choose besides the model: `mode=plan`, or `mode` for every value of it."""


class Gateway:
    """Keeps one agent for its callers. Constructing starts nothing."""

    def __init__(
        self, target: ChosenAgent, rules: GatewayRules, *, cwd: str, startable: Startable | None = None
    ) -> None:
        """`startable` is started instead of the target's command."""
        self.target = target
        self._startable = startable
        self.rules = rules
        self.cwd = cwd
        self._agent_stack = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._agent: SupervisedAgent | None = None
        self._sessions: dict[str, GatewaySession] = {}
        self._openings: list[GatewaySession] = []
        self._local = LocalClient(
            self._desk_of,
            rules=rules,
            place="nowhere" if target.agent.address is not None else target.place,
            find_subagents=lambda: None if self._agent is None else self._agent.handle.subagents,
        )
        self.client = Client(
            "dragoman-gateway",
            version=VERSION,
            title="Dragoman",
            elicitation_modes=("form", "url"),
            subagents=True,
        )
        self.client.update(self._local.calls.on_update)
        self._local.serve(self.client)

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._agent_stack.aclose()
        finally:
            await self._local.workspace.aclose()

    # The agent.

    @property
    def is_local(self) -> bool:
        """Whether the agent is a program on this machine, which works with its files."""
        return self._local.place == "here"

    async def agent(self) -> SupervisedAgent:
        """Return the started agent. Raises `DragomanError` if the start fails; the next
        caller may try again.
        """
        async with self._starting:
            if self._agent is None:
                supervisor = supervised(
                    self._startable or self.target.agent.command or self.target.dial,
                    client=self.client,
                    deadlines=Deadlines(silence=self.rules.silence, login=LOGIN_SECONDS),
                    cwd=self.cwd if self.is_local else None,
                    env=self.target.env,
                    on_event=self._on_supervision_event,
                    on_stderr=stderr_writer(),
                    dialect=self.target.dialect,
                    policy=self.rules.policy or "",
                    launcher=self.target.launcher,
                )
                self._agent = await self._agent_stack.enter_async_context(supervisor)
        return self._agent

    async def stop_agent(self) -> None:
        """End the agent unless a session needs it. The next session starts it again."""
        async with self._starting:
            if not self._sessions and not self._openings:
                self._agent = None
                await self._agent_stack.aclose()

    def _on_supervision_event(self, event: SupervisionEvent) -> None:
        if event.kind != "lost_context" or event.session_id is None or event.former_id is None:
            return
        session = self._sessions.pop(event.former_id, None)
        if session is None:
            return
        self._sessions[event.session_id] = session
        self._local.workspace.renew(event.former_id, event.session_id)
        session.note(f"the agent was restarted and has forgotten this session; it is {event.session_id} now")

    # Sessions.

    def find_session(self, session_id: str, *, owner: Hashable) -> GatewaySession | None:
        """Return an open session of this owner."""
        session = self._sessions.get(session_id)
        return session if session is not None and session.owner == owner else None

    def sessions_of(self, owner: Hashable) -> list[GatewaySession]:
        return [session for session in self._sessions.values() if session.owner == owner]

    async def open_session(
        self, *, cwd: str, owner: Hashable, user: LocalUser = NOBODY, stored_id: str | None = None
    ) -> GatewaySession:
        """Open a new session, or a stored one of the agent. The caller has checked the folder."""
        session = self._make_session(cwd, owner, user)
        self._openings.append(session)
        try:
            agent = await self.agent()
            await self._make_room()
            if stored_id is None:
                with self._local.lending(cwd=cwd, info=agent.info) as lent:
                    session.supervised = await agent.new_session(cwd=cwd)
                    lent(session.id)
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

    async def _bring_back(self, agent: SupervisedAgent, session: GatewaySession, session_id: str) -> None:
        opening_ids = [opening.stored_id for opening in self._openings if opening is not session]
        if session_id in self._sessions or session_id in opening_ids:
            raise SessionBusy("another client is using this session")
        session.stored_id = session_id
        await agent.living_agent()
        capabilities = agent.handle.capabilities
        can_resume = "sessionCapabilities.resume" in capabilities
        if not can_resume and "loadSession" not in capabilities:
            raise UsageMistake(
                f"no open session {session_id!r}, and the agent can't continue a stored one",
                "remove `session` to start a new session",
            )
        self._local.lend(session_id, cwd=session.cwd, info=agent.info)
        try:
            how = agent.resume_session if can_resume else agent.load_session
            session.supervised = await how(session_id, cwd=session.cwd)
        except BaseException:
            self._local.workspace.close(session_id)
            raise

    def _make_session(self, cwd: str, owner: Hashable, user: LocalUser) -> GatewaySession:
        approve = self.rules.approve or (None if user.permissions is not None else "reads")
        rules = replace(self.rules, approve=approve)
        check_policy(rules, [cwd])
        session = GatewaySession(owner=owner, user=user, cwd=cwd)
        session.desk = LocalDesk(
            rules,
            door="gateway",
            agent=identity_of(self.target.agent, self.cwd if self.is_local else ""),
            roots=[cwd],
            user=user,
            audit=ReportedAuditLog(on_entry=lambda line: None, on_failure=session.note),
            place=self._local.place,
            find_tool_call=self._local.calls.find_call,
            requester_of=self._local.requester_of,
        )
        return session

    async def _make_room(self) -> None:
        while len(self._sessions) + len(self._openings) > self.rules.most_sessions:
            idle_sessions = [session for session in self._sessions.values() if not session.is_busy]
            if not idle_sessions:
                raise TooManySessions(f"{self.rules.most_sessions} sessions are at work; try again later")
            await self.close_session(min(idle_sessions, key=lambda session: session.used_at))

    async def close_session(self, session: GatewaySession) -> None:
        """Free a session at the agent, if the agent supports it; this cancels its running turn."""
        self._sessions.pop(session.id, None)
        self._local.workspace.close(session.id)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await session.supervised.close()
        except (DragomanError, TimeoutError):
            pass  # nobody finds it any more, and that is what counts

    async def close_sessions_of(self, owner: Hashable) -> None:
        for session in self.sessions_of(owner):
            await self.close_session(session)

    # Questions of the agent.

    def _desk_of(self, session_id: str | None) -> LocalDesk | None:
        """Who answers in a session. An agent may ask before we have learned the session's id; if a single one
        is being opened, it is meant.
        """
        session = self._sessions.get(session_id or "")
        if session is None and len(self._openings) == 1:
            session = self._openings[0]
        return None if session is None else session.desk

    # What went wrong.

    def explain(self, error: DragomanError) -> RunOutcome:
        """Explain an error to a caller: its name, what happened, and what to do next. Possible secrets in the
        agent's last output are hidden, because the caller may be another person.
        """
        outcome = self._outcome_of(error)
        return replace(outcome, message=None if outcome.message is None else redact(outcome.message))

    def _outcome_of(self, error: DragomanError) -> RunOutcome:
        if isinstance(error, CrashLoop) and self._agent is not None:
            self._agent.forgive()
        if not isinstance(error, LoginRequired):
            return outcome_of_error(error)
        handle = None if self._agent is None else self._agent.handle
        return outcome_of_login(error, self.target.login_hint(handle, knows_terminal=False))
