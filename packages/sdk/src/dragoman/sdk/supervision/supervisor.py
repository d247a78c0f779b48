"""`supervised`: watches an agent, restarts it after a crash, and reports every event.

    async with supervised("some-agent --acp", on_event=show) as agent:
        session = await agent.new_session(cwd="/project")
        result = await session.prompt("Hello")

A death is noticed at once, in a turn or between two. The agent is started again when it is next needed, later
each time, and its session brought back (see `session`); one that dies too often in too short a time is given
up, with the reason and its last words. Everything that happens is told as an `SupervisionEvent`.

It promises that leaving the block leaves no process, task or descriptor, and that whatever is awaited here
ends with a result or with an error of ours.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from dragoman.errors import CallFailed, CrashLoop, DragomanError, HandshakeTimeout, LinkClosed, LocalMistake
from dragoman.runtime import Limits
from dragoman.runtime.limits import DEFAULT_LIMITS
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.client.client import Client
from dragoman.sdk.connect import check_target
from dragoman.sdk.environment import Env, withheld_names
from dragoman.sdk.login import Login, call_with_login, log_in, log_out, refused_after_login
from dragoman.sdk.session_opener import OpenMethod, SessionOpener, SessionPlace
from dragoman.sdk.supervision.agent_start import AgentTarget, Startable, start_agent
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.events import EventReporter, SupervisionEvent
from dragoman.sdk.supervision.life import AgentLife, together
from dragoman.sdk.supervision.restarts import CrashHistory, Restarts
from dragoman.sdk.supervision.session import Replay, SupervisedSession

if TYPE_CHECKING:
    from dragoman.dialect import Ledger
    from dragoman.transport.tapped_transport import Tap

T = TypeVar("T")


def supervised(
    target: Startable,
    *,
    client: Client | None = None,
    deadlines: Deadlines | None = None,
    restarts: Restarts | None = None,
    login: Login | None = None,
    limits: Limits | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Env = None,
    env_allow: Iterable[str] = (),
    env_set: Mapping[str, str] | None = None,
    shell_path: bool = True,
    replay: Replay = "swallow",
    on_event: Callable[[SupervisionEvent], None] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    tap: Tap | None = None,
    dialect: str = "auto",
    quirks: bool = True,
    ledger: Ledger | None = None,
    policy: str = "",
    launcher: Sequence[str] = (),
) -> SupervisedAgent:
    """Supervise an agent during an `async with`; nothing starts before it is entered.

    A command gets the closed environment with the names in `env_allow` and the values in `env_set`, and the
    PATH of the login shell unless `shell_path` is off; `env` takes the place of all that. `replay` says what
    happens to a history that an agent tells again after a restart: it is swallowed, or kept in `late`.
    `dialect`, `quirks`, `ledger` and `policy` are those of `connect`, for every life of the agent; `launcher`
    is that of `spawn`: a program in front of a command that becomes it.

        async with supervised("some-agent --acp", on_event=print) as agent:
            session = await agent.new_session(cwd="/project")
            result = await session.prompt("Hello")
    """
    check_target(target, is_other=callable(target), other="a function that opens a transport")
    deadlines = deadlines or Deadlines()
    allow = tuple(env_allow)
    login = login or Login(seconds=deadlines.login)
    if env is None and not login.withheld_names:
        login = replace(login, withheld_names=withheld_names(allow=allow))
    source = AgentTarget(
        target=target,
        client=client,
        limits=deadlines.applied_to(limits or DEFAULT_LIMITS),
        cwd=cwd,
        env=env,
        env_allow=allow,
        env_set=dict(env_set or {}),
        shell_path=shell_path,
        on_stderr=on_stderr,
        tap=tap,
        dialect=dialect,
        quirks=quirks,
        ledger=ledger,
        policy=policy,
        launcher=tuple(launcher),
    )
    return SupervisedAgent(
        source,
        deadlines=deadlines,
        restarts=restarts or Restarts(),
        login=login,
        replay=replay,
        on_event=on_event,
    )


class SupervisedAgent(SessionOpener[Coroutine[object, None, SupervisedSession]]):
    """An agent that is restarted after crashes, made by `supervised`."""

    def __init__(
        self,
        source: AgentTarget,
        *,
        deadlines: Deadlines,
        restarts: Restarts,
        login: Login,
        replay: Replay,
        on_event: Callable[[SupervisionEvent], None] | None,
    ) -> None:
        self.deadlines = deadlines
        self.restarts = restarts
        self.replay = replay
        self.turns = 0
        """Turns that are running now."""
        self._source = source
        self._login = login
        self.report = EventReporter(on_event)
        self._deaths = CrashHistory(restarts)
        self._count = 0
        self._life: AgentLife | None = None
        self._ending: list[AgentLife] = []
        """Lives of which something may still be left."""
        self._crash_loop: CrashLoop | None = None
        self._lock: asyncio.Lock | None = None
        self._is_closed = False

    async def __aenter__(self) -> SupervisedAgent:
        self._lock = asyncio.Lock()
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        await together(life.aclose() for life in self._ending)

    # Who it is.

    @property
    def handle(self) -> AgentHandle:
        """The current agent, dead or alive; `living` returns a running one."""
        if self._life is None:
            raise LocalMistake("the agent was not started yet")
        return self._life.handle

    @property
    def info(self) -> v1.Implementation | None:
        return self.handle.info

    @property
    def is_alive(self) -> bool:
        return self._life is not None and self._life.is_alive

    # Sessions.

    async def open_session(
        self, place: SessionPlace, how: OpenMethod, session_id: str = ""
    ) -> SupervisedSession:
        """Open a session in a running agent, after a login if the agent requires one."""
        life = await self.living_agent()
        session = await self.with_login(life, lambda: life.handle.open_session(place, how, session_id))
        return SupervisedSession(self, session, life, place)

    # Login.

    async def with_login(self, life: AgentLife, attempt: Callable[[], Awaitable[T]]) -> T:
        return await call_with_login(life.handle, attempt, self._login)

    async def log_in(self, refusal: CallFailed, *, tried_method: str | None) -> str:
        """Log in after a refusal, if there is a method that was not tried before."""
        if tried_method is not None:
            raise refused_after_login(self.handle, refusal, self._login, tried_method=tried_method)
        return await log_in(self.handle, refusal, self._login)

    async def logout(self) -> bool:
        """Log out if the agent supports it; otherwise return False."""
        return await log_out((await self.living_agent()).handle)

    # Life and death.

    async def living_agent(self) -> AgentLife:
        """Return the running agent; start one if the last has ended. Raises `CrashLoop` after too many
        crashes.
        """
        if self._lock is None or self._is_closed:
            raise LocalMistake("a supervised agent is used inside of its `async with`")
        async with self._lock:
            if self._life is None or not self._life.is_alive:
                await self._restart()
            assert self._life is not None
            return self._life

    def forgive(self) -> None:
        """Forget the crashes so far, so that a caller who repaired the cause may try again at once."""
        self._deaths.clear()
        self._crash_loop = None

    async def _restart(self) -> None:
        if self._life is not None:
            self.on_death(self._life, self._life.why_gone())  # we may be quicker than its watch
        while True:
            if self._crash_loop is not None:
                raise self._crash_loop.with_traceback(None)
            delay = self._deaths.delay(self._now())
            self.report.on_restart(delay, self._deaths.last)
            await asyncio.sleep(delay)
            try:
                return await self._start()
            except (LinkClosed, HandshakeTimeout) as error:
                self._note_death(error)

    async def _start(self) -> None:
        self._count = self.report.life = self._count + 1
        began = self._now()
        life = await start_agent(self._source, number=self._count, report=self.report)
        self._life = life
        self._ending = [*(former for former in self._ending if not former.is_over), life]
        life.watch(self.on_death)
        self.report.on_initialize(life.handle.info, seconds=self._now() - began, pid=life.pid)

    def on_death(self, life: AgentLife, error: DragomanError) -> None:
        """Report that a process has ended, once for each."""
        if not (life.is_mourned or self._is_closed):
            life.is_mourned = True
            self._note_death(life.verdict or error)

    def _note_death(self, error: DragomanError) -> None:
        self._deaths.add(error, self._now())
        self.report.on_death(error, in_turn=self.turns > 0)
        self._crash_loop = self._deaths.verdict(self._now())
        if self._crash_loop is not None:
            self.report.on_give_up(self._crash_loop)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
