"""The agents of the hub: one process each, started when somebody needs it, watched, and stopped when nobody
does.

A process that ends is started again with the next prompt, later and later if it keeps dying, and the sessions
that it knew are brought back to it: resumed or loaded if it can, else made anew, with what was said before as
a reminder in front of the next prompt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dragoman.errors import AgentFailed, CallFailed, DragomanError, LinkClosed, LocalMistake, SpawnFailed
from dragoman.hub.agents.channel import AgentChannel, LeaseTerm
from dragoman.hub.agents.end import AgentEnd
from dragoman.hub.agents.invalid_frames import InvalidFrames
from dragoman.hub.agents.loading import LOAD_SECONDS, SessionLoad
from dragoman.hub.agents.process import AgentProcess
from dragoman.hub.session.events import BroughtBack
from dragoman.hub.session.frames import value_of
from dragoman.runtime.owner import TaskOwner
from dragoman.version import VERSION

if TYPE_CHECKING:
    from dragoman.hub.engine.live_session import LiveSession

log = logging.getLogger(__name__)

INITIALIZE_SECONDS = 300.0
"""An agent that fetches its own packages first takes minutes."""
CALM_SECONDS = 60.0
"""A process that lived so long did not die of its start."""
LONGEST_PAUSE = 30.0
LOOK_SECONDS = 15.0

CLIENT: dict[str, Any] = {
    "protocolVersion": 1,
    "clientInfo": {"name": "dragoman-hub", "title": "Dragoman hub", "version": VERSION},
    "clientCapabilities": {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "elicitation": {"form": {}, "url": {}},
        "subagents": {},
    },
}


class AgentSpec(Struct, frozen=True, kw_only=True):
    """One agent that the hub offers."""

    name: str
    open: Callable[[], Awaitable[AgentChannel]]
    """Starts it."""
    adopt: Callable[[], Awaitable[AgentChannel | None]] | None = None
    """Finds one that outlived the hub before; None if none did. Without it, none ever does."""
    title: str = ""
    description: str = ""
    idle: float = 600.0
    restarts: int = 5
    secrets: tuple[str, ...] = ()
    """Values of its environment that must not be shown with its last words."""


class Seat:
    """One agent's place: its life, if it has one, and how its last ones went."""

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.life: AgentProcess | None = None
        self.beginning: AgentProcess | None = None
        """A process that has not answered to `initialize` yet."""
        self.starting = asyncio.Lock()
        self.failures = 0
        self.starts = 0
        self.not_before = 0.0
        self.initialized: dict[str, Any] = {}  # what it answered last
        self.invalid = InvalidFrames(spec.name)
        self.last_error = ""
        """Why its last process could not be started or has ended; empty once one has started since."""


class AgentPool:
    """`on_gone` hears of lives that ended; `remember` keeps what an agent answered to `initialize`."""

    def __init__(
        self,
        specs: Mapping[str, AgentSpec],
        *,
        remember: Callable[[str, dict[str, Any] | None], dict[str, Any]],
    ) -> None:
        self.seats = {name: Seat(spec) for name, spec in specs.items()}
        self.find: Callable[[AgentProcess, str], Awaitable[None]] = _nobody
        """Opens the session that an agent speaks of, if there is one."""
        self.lease: Callable[[], LeaseTerm] | None = None
        """Says for how long agents may act; without it, they need no leave."""
        self.origin = 0
        """Tells processes of this machine from those of others."""
        self._remember = remember
        self._owner: TaskOwner | None = None

    def start(self) -> None:
        self._owner = TaskOwner("pool")
        self._owner.start(self._look())

    def offer(self, specs: Mapping[str, AgentSpec]) -> None:
        """From now on these; what runs goes on under what it was started with."""
        for name, spec in specs.items():
            if name in self.seats:
                self.seats[name].spec = spec
            else:
                self.seats[name] = Seat(spec)
        for name, seat in list(self.seats.items()):
            rests = seat.life is None or seat.life.over
            if name not in specs and rests and not seat.starting.locked():
                del self.seats[name]

    def seat(self, name: str) -> Seat:
        try:
            return self.seats[name]
        except KeyError:
            known = ", ".join(sorted(self.seats))
            raise LocalMistake(f"the hub has no agent {name!r}; it has {known}") from None

    async def life(self, name: str) -> AgentProcess:
        """A life of the agent, begun if there is none."""
        seat = self.seat(name)
        async with seat.starting:
            if seat.life is not None and not seat.life.over:
                return seat.life
            await self._wait_for_turn(seat)
            seat.starts += 1
            try:
                life = await self._begin(seat, await _opened(seat.spec))
            except BaseException as error:
                self._failed(seat)
                if isinstance(error, DragomanError):
                    seat.last_error = str(error)
                raise
            return life

    async def adopt(self, seat: Seat) -> AgentProcess | None:
        """The life that outlived the hub before, if there is one."""
        line = None if seat.spec.adopt is None else await seat.spec.adopt()
        if line is None:
            return None
        life = self._life(seat, line, survives=True)
        life.initialized = seat.initialized = self._remember(seat.spec.name, None)
        seat.life = life
        return life

    def _life(self, seat: Seat, line: AgentChannel, *, survives: bool) -> AgentProcess:
        if self.lease is not None:
            lasting = self.lease()
            line.lease(lasting.seconds, since=lasting.since)
        return AgentProcess(
            seat.spec.name,
            line,
            survives=survives,
            origin=self.origin,
            on_end=self._ended,
            find=self.find,
            secrets=seat.spec.secrets,
            invalid=seat.invalid,
        )

    def renew(self, lasting: LeaseTerm) -> None:
        """Agents that run may go on for so long."""
        for life in self._lives():
            life.line.lease(lasting.seconds, since=lasting.since)

    async def end_kept(self) -> None:
        """End agents that a hub before us has left running: they are not ours to go on with."""
        for seat in self.seats.values():
            line = None if seat.spec.adopt is None else await seat.spec.adopt()
            if line is not None:
                await line.aclose()

    async def lose(self) -> None:
        """End all agents at once; what they were doing is for others to write down."""
        lives = self._lives()
        for life in lives:
            life.dismissed = True
            for session in list(life.sessions.values()):
                session.life = None
            life.sessions.clear()
            life.bound.clear()
        await asyncio.gather(*(life.line.aclose() for life in lives), return_exceptions=True)

    def _lives(self) -> list[AgentProcess]:
        """All processes that run, those included that have not answered yet: their leases run too."""
        found = [life for seat in self.seats.values() for life in (seat.life, seat.beginning)]
        return [life for life in found if life is not None and not life.over]

    async def _begin(self, seat: Seat, line: AgentChannel) -> AgentProcess:
        survives = seat.spec.adopt is not None
        life = self._life(seat, line, survives=survives)
        seat.beginning = life
        life.start()
        try:
            answer = await life.call("initialize", CLIENT, within=INITIALIZE_SECONDS)
        except TimeoutError:
            end = life.ended_so_far(f"it did not answer initialize within {INITIALIZE_SECONDS:g} s")
            await line.aclose()
            raise AgentFailed(f"agent {end.agent}: {end.reason}", end.details()) from None
        except BaseException:
            await line.aclose()
            raise
        finally:
            seat.beginning = None
        life.initialized = seat.initialized = value_of(answer, {})
        self._remember(seat.spec.name, life.initialized)
        seat.life = life
        seat.last_error = ""
        return life

    async def _wait_for_turn(self, seat: Seat) -> None:
        if seat.failures > seat.spec.restarts:
            seat.failures = seat.spec.restarts  # the next prompt may try once more
            times = seat.spec.restarts + 1
            raise LocalMistake(
                f"{seat.last_error or f'agent {seat.spec.name} ended'} ({times} times in a row; "
                "the next request tries once more)"
            )
        left = seat.not_before - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)

    def _failed(self, seat: Seat) -> None:
        seat.failures += 1
        pause = min(LONGEST_PAUSE, 0.1 * 2.0**seat.failures)
        seat.not_before = asyncio.get_running_loop().time() + pause

    def _ended(self, life: AgentProcess) -> None:
        seat = self.seats[life.agent]
        if seat.life is life:
            loop = asyncio.get_running_loop()
            if loop.time() - life.used < CALM_SECONDS and any(
                one.state.is_busy for one in life.sessions.values()
            ):
                self._failed(seat)
            else:
                seat.failures = 0
        if self._owner is not None:
            self._owner.start(life.line.aclose())  # whoever keeps it waits for this
            self._owner.start(life.finish_seeking())
        if getattr(life.line, "replaced", False):
            log.error("%s was taken over by another hub on the same journal", life.agent)
            for session in list(life.sessions.values()):
                session.life = None  # what becomes of its turn, the other hub writes down
            return
        if life.dismissed:
            log.info("agent %s has ended", life.agent)
        else:
            seat.last_error = life.over
            log.warning("%s", life.over)
        for session in list(life.sessions.values()):
            session.on_agent_end(life)

    # Sessions and lives.

    async def make(self, name: str, params: dict[str, Any]) -> tuple[AgentProcess, dict[str, Any]]:
        """A new session of the agent; what it answered."""
        life = await self.life(name)
        made = value_of(await life.call("session/new", params, within=LOAD_SECONDS), {})
        if not isinstance(made, dict) or not isinstance(made.get("sessionId"), str):
            raise CallFailed(-32603, f"{name} made a session without an id")
        return life, made

    def join(
        self,
        session: LiveSession,
        life: AgentProcess,
        own: str,
        *,
        note: BroughtBack | None = None,
        heard: int = 0,
    ) -> None:
        """From here on the process knows the session. `note` is for the stream, if that does not say so
        yet; `heard` is the number of the frame that `note` comes from.
        """
        life.sessions[own] = session
        life.bound[session.id] = own
        life.parted.discard(own)
        life.used = asyncio.get_running_loop().time()
        session.bind(life, note=note, heard=heard)
        life.on_joined(own)

    async def bind(self, session: LiveSession) -> AgentProcess:
        """A life that knows the session."""
        async with session.binding:
            if session.life is not None and not session.life.over:
                session.life.used = asyncio.get_running_loop().time()
                return session.life
            if session.state.parent:
                raise LinkClosed("a child session is its agent's own, and its agent has left it")
            life = await self.life(session.state.agent)
            own = life.bound.get(session.id)
            if own is not None:
                self._join_open(session, life, own)
            else:
                await self._bring_back(session, life)
            session.needs_reminder = False
            return life

    def _join_open(
        self,
        session: LiveSession,
        life: AgentProcess,
        own: str,
        *,
        note: BroughtBack | None = None,
        heard: int = 0,
    ) -> None:
        """Join them, unless the session was closed meanwhile."""
        if session.state.phase != "open":
            if self._owner is not None:
                self._owner.start(_close_again(session, life, own))
            raise LinkClosed("the session was closed while its agent was being started")
        self.join(session, life, own, note=note, heard=heard)

    async def _bring_back(self, session: LiveSession, life: AgentProcess) -> None:
        state = session.state
        params: dict[str, Any] = {"cwd": state.cwd, "mcpServers": [], **session.setup}
        if state.folders and life.can("sessionCapabilities", "additionalDirectories"):
            params["additionalDirectories"] = state.folders
        for method, can in (
            ("session/resume", life.can("sessionCapabilities", "resume")),
            ("session/load", life.can("loadSession")),
        ):
            if can and await self._load(session, life, method, {**params, "sessionId": state.agent_session}):
                return
        with life.making():
            _, answer = await self.make(life.agent, params)
            own = str(answer.pop("sessionId"))
            note = BroughtBack(session=own, result=answer, remembers=state.turns == 0)
            self._join_open(session, life, own, note=note)

    async def _load(
        self, session: LiveSession, life: AgentProcess, method: str, params: dict[str, Any]
    ) -> bool:
        """Let the process bring the session back. False if it refuses."""
        number = life.next_id()
        session.bind(life, load=number, heard=life.last_frame)
        with SessionLoad(session, life, number, method) as load:
            await load.send(params)
            return await self._loaded(load)

    def go_on_loading(self, session: LiveSession, life: AgentProcess) -> None:
        """The hub before us was killed while the process brought the session back."""
        load = SessionLoad(session, life, session.state.loading, "session/load")

        async def finish() -> None:
            async with session.binding:  # a prompt waits for it
                with suppress(DragomanError, TimeoutError), load:
                    await self._loaded(load)

        if self._owner is not None:
            self._owner.start(finish())

    async def _loaded(self, load: SessionLoad) -> bool:
        session, life = load.session, load.life
        try:
            made = await load.result()
        except CallFailed as error:
            log.info("%s does not bring session %s back (%s)", life.agent, session.id, error.message)
            return False
        note = BroughtBack(session=load.own, result=made, remembers=not session.needs_reminder)
        self._join_open(session, life, load.own, note=note, heard=load.heard)
        load.is_done = True
        return True

    # Rest and end.

    async def _look(self) -> None:
        """Stop what nobody has used for long."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for seat in self.seats.values():
                life = seat.life
                if life is None or life.over or any(one.state.is_busy for one in life.sessions.values()):
                    continue
                if now - life.used > seat.spec.idle:
                    log.info("%s is stopped: nobody has used it for %g s", life.agent, seat.spec.idle)
                    life.dismissed = True
                    await life.line.aclose()

    async def leave(self) -> None:
        """Let go of agents that outlive us, and end the others; one that has not answered to `initialize` is
        of no use to the next hub.
        """
        useless = {seat.beginning for seat in self.seats.values()}

        def how(life: AgentProcess) -> Awaitable[None]:
            return life.line.leave() if life.survives and life not in useless else life.line.aclose()

        await self._end(how)

    async def aclose(self) -> None:
        """End all agents."""
        await self._end(lambda life: life.line.aclose())

    async def _end(self, how: Callable[[AgentProcess], Awaitable[None]]) -> None:
        if self._owner is not None:
            await self._owner.aclose()
        for life in self._lives():
            life.dismissed = True
        lives = self._lives()
        await asyncio.gather(*(life.stop_seeking() for life in lives))
        ended = await asyncio.gather(*(how(life) for life in lives), return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, DragomanError):
                log.error("an agent could not be ended", exc_info=error)


async def _opened(spec: AgentSpec) -> AgentChannel:
    try:
        return await spec.open()
    except SpawnFailed as error:
        message = f"agent {spec.name}: {error}"
        log.warning("%s", message)
        raise AgentFailed(message, AgentEnd(agent=spec.name).details()) from error


async def _close_again(session: LiveSession, life: AgentProcess, own: str) -> None:
    """A session was closed while the agent brought it back: nobody wants it there. First that is stored: else
    the hub after a crash takes the process for one that knows the session.
    """
    if life.can("sessionCapabilities", "close"):
        with suppress(DragomanError, TimeoutError):
            async with asyncio.timeout(LOAD_SECONDS):
                await session.stored()
                await life.call("session/close", {"sessionId": own})


async def _nobody(life: AgentProcess, session_id: str) -> None:
    pass
