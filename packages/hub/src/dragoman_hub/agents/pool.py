"""The agent processes of the hub: one per agent, started on demand, watched, and stopped when unused.

A process that ends is started again with the next prompt, later and later if it keeps dying, and the sessions
that it knew are brought back to it: resumed or loaded if it can, else made anew, with what was said before as
a reminder in front of the next prompt.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dragoman.errors import AgentFailed, CallFailed, DragomanError, LinkClosed, LocalMistake, SpawnFailed
from dragoman.runtime.owner import TaskOwner
from dragoman.version import VERSION
from dragoman_hub.agents.channel import AgentChannel, LeaseTerm
from dragoman_hub.agents.end import AgentEnd
from dragoman_hub.agents.invalid_frames import InvalidFrames
from dragoman_hub.agents.process import AgentProcess
from dragoman_hub.agents.session_load import LOAD_SECONDS, SessionLoad, retrieve_exception
from dragoman_hub.engine.lifecycle import agents_name, discard
from dragoman_hub.engine.live_session import LiveSession, SessionProcess
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.engine.log_round import LogRound
from dragoman_hub.gate.admission import is_below
from dragoman_hub.session.events import BroughtBack
from dragoman_hub.session.frames import value_of

log = logging.getLogger(__name__)

INITIALIZE_SECONDS = 300.0
"""The most seconds for `initialize`: an agent that first downloads its packages takes minutes."""
CALM_SECONDS = 60.0
"""A process that lived this many seconds did not fail at its start."""
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
        "_meta": {"dragoman": {"usage": True}},
    },
}


class AgentSpec(Struct, frozen=True, kw_only=True):
    """One agent that the hub offers."""

    name: str
    open: Callable[[], Awaitable[AgentChannel]]
    """Starts it."""
    adopt: Callable[[], Awaitable[AgentChannel | None]] | None = None
    """Finds a process that outlived the previous hub; None if there is none. Without this function there
    never is.
    """
    title: str = ""
    description: str = ""
    idle: float = 600.0
    restarts: int = 5
    place: str = ""
    """The machine or container of the agent and of its sessions' folders; empty for this machine."""
    sandbox: str = "off"
    """The sandbox around its processes."""
    roots: tuple[str, ...] = ()
    """Folders that it can write to; empty if no sandbox limits them."""
    secrets: tuple[str, ...] = ()
    """Values of its environment to hide in its last output."""
    is_interpreted: bool = False
    """Whether our interpreter runs in front of it, whose fields for other edges (`dragoman/…`) stay."""
    examine: Callable[[], Awaitable[dict[str, Any]]] | None = None
    """Tests step by step in a separate process whether it starts and works; None if that is impossible."""


class AgentSlot:
    """One agent: its running process, if any, and the ends of earlier ones."""

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.process: AgentProcess | None = None
        self.beginning: AgentProcess | None = None
        """A process that has not answered to `initialize` yet."""
        self.starting = asyncio.Lock()
        self.failures = 0
        self.starts = 0
        self.not_before = 0.0
        self.initialize_result: dict[str, Any] = {}  # what it answered last
        self.invalid = InvalidFrames(spec.name)
        self.last_error = ""
        """Why its last process could not be started or has ended; empty once one has started since."""
        self.last_end: dict[str, Any] = {}
        """How that process ended, with its last words; empty if it never ran."""


class AgentPool:
    """Starts and ends processes; `remember` stores an agent's answer to `initialize`."""

    def __init__(
        self,
        specs: Mapping[str, AgentSpec],
        *,
        remember: Callable[[str, dict[str, Any] | None], dict[str, Any]],
        log_round: LogRound | None = None,
    ) -> None:
        self.seats = {name: AgentSlot(spec) for name, spec in specs.items()}
        self.find: Callable[[AgentProcess, str], Awaitable[None]] = _ignore_session
        """Opens the session that an agent speaks of, if there is one."""
        self.lease: Callable[[], LeaseTerm] | None = None
        """Says for how long agents may act; without it, they need no leave."""
        self.origin = 0
        """Tells processes of this machine from those of others."""
        self._remember = remember
        self._log_round = log_round
        self._owner: TaskOwner | None = None
        self._first_loads: dict[str, asyncio.Future[None]] = {}
        """Of sessions that the hub has nothing of yet, by their ids."""

    def start(self) -> None:
        self._owner = TaskOwner("pool")
        self._owner.start(self._look())

    @property
    def _tasks(self) -> TaskOwner:
        assert self._owner is not None, "the pool was not started"
        return self._owner

    def offer(self, specs: Mapping[str, AgentSpec]) -> None:
        """Offer these agents from now on; running processes keep their old settings."""
        for name, spec in specs.items():
            if name in self.seats:
                self.seats[name].spec = spec
            else:
                self.seats[name] = AgentSlot(spec)
        for name, seat in list(self.seats.items()):
            rests = seat.process is None or seat.process.over
            if name not in specs and rests and not seat.starting.locked():
                del self.seats[name]

    def seat(self, name: str) -> AgentSlot:
        try:
            return self.seats[name]
        except KeyError:
            names = ", ".join(sorted(self.seats))
            raise LocalMistake(f"the hub has no agent {name!r}; it has {names}") from None

    async def ensure_process(self, name: str) -> AgentProcess:
        """Return a running process of the agent; start one if there is none."""
        seat = self.seat(name)
        async with seat.starting:
            if seat.process is not None and not seat.process.over:
                return seat.process
            await self._wait_for_turn(seat)
            seat.starts += 1
            try:
                process = await self._begin(seat, await _open_channel(seat.spec))
            except BaseException as error:
                self._count_failure(seat)
                if isinstance(error, DragomanError):
                    seat.last_error = str(error)
                    seat.last_end = error.details if isinstance(error, AgentFailed) else {}
                raise
            return process

    def find_process(self, name: str) -> AgentProcess | None:
        """Return the last process of the agent, if there was one."""
        return self.seats[name].process if name in self.seats else None

    async def adopt_all(self) -> list[AgentProcess]:
        """Return the processes that outlived the previous hub."""
        return [process for seat in self.seats.values() if (process := await self._adopt(seat))]

    async def _adopt(self, seat: AgentSlot) -> AgentProcess | None:
        """The process that outlived the hub before this one, if there is one."""
        channel = None if seat.spec.adopt is None else await seat.spec.adopt()
        if channel is None:
            return None
        process = self._new_process(seat, channel, survives=True)
        process.initialize_result = seat.initialize_result = self._remember(seat.spec.name, None)
        seat.process = process
        return process

    def _new_process(self, seat: AgentSlot, channel: AgentChannel, *, survives: bool) -> AgentProcess:
        if self.lease is not None:
            lasting = self.lease()
            channel.lease(lasting.seconds, since=lasting.since)
        if self._log_round is not None:
            channel.burst = self._log_round
        return AgentProcess(
            seat.spec.name,
            channel,
            survives=survives,
            origin=self.origin,
            on_end=self._on_process_end,
            find=self.find,
            secrets=seat.spec.secrets,
            invalid=seat.invalid,
            is_interpreted=seat.spec.is_interpreted,
        )

    def renew(self, lasting: LeaseTerm) -> None:
        """Let running agents continue for this many seconds."""
        for process in self._processes():
            process.channel.lease(lasting.seconds, since=lasting.since)

    async def end_hosted(self) -> None:
        """End agents that an earlier hub has left running, and that this hub can't take over."""
        for seat in self.seats.values():
            channel = None if seat.spec.adopt is None else await seat.spec.adopt()
            if channel is not None:
                await channel.aclose()

    async def lose(self) -> None:
        """End all agents at once; another node records the state of their work."""
        processes = self._processes()
        for process in processes:
            process.is_dismissed = True
            for session in list(process.sessions.values()):
                session.process = None
            process.sessions.clear()
            process.own_ids.clear()
        await asyncio.gather(*(process.channel.aclose() for process in processes), return_exceptions=True)

    def _processes(self) -> list[AgentProcess]:
        """All processes that run, those included that have not answered yet: their leases run too."""
        candidates = [process for seat in self.seats.values() for process in (seat.process, seat.beginning)]
        return [process for process in candidates if process is not None and not process.over]

    async def _begin(self, seat: AgentSlot, channel: AgentChannel) -> AgentProcess:
        survives = seat.spec.adopt is not None
        process = self._new_process(seat, channel, survives=survives)
        seat.beginning = process
        process.start()
        try:
            answer = await process.call("initialize", CLIENT, within=INITIALIZE_SECONDS)
        except TimeoutError:
            end = process.ended_so_far(f"it did not answer initialize within {INITIALIZE_SECONDS:g} s")
            await channel.aclose()
            raise AgentFailed(f"agent {end.agent}: {end.reason}", end.details()) from None
        except BaseException:
            await channel.aclose()
            raise
        finally:
            seat.beginning = None
        process.initialize_result = seat.initialize_result = value_of(answer, {})
        self._remember(seat.spec.name, process.initialize_result)
        seat.process = process
        seat.last_error, seat.last_end = "", {}
        return process

    async def _wait_for_turn(self, seat: AgentSlot) -> None:
        if seat.failures > seat.spec.restarts:
            seat.failures = seat.spec.restarts  # the next prompt may try once more
            times = seat.spec.restarts + 1
            raise LocalMistake(
                f"{seat.last_error or f'agent {seat.spec.name} ended'} ({times} times in a row; "
                "the next request tries once more)"
            )
        seconds = seat.not_before - asyncio.get_running_loop().time()
        if seconds > 0:
            await asyncio.sleep(seconds)

    def _count_failure(self, seat: AgentSlot) -> None:
        seat.failures += 1
        pause = min(LONGEST_PAUSE, 0.1 * 2.0**seat.failures)
        seat.not_before = asyncio.get_running_loop().time() + pause

    def _on_process_end(self, process: AgentProcess) -> None:
        seat = self.seats[process.agent]
        if seat.process is process:
            loop = asyncio.get_running_loop()
            if loop.time() - process.used < CALM_SECONDS and any(
                session.state.is_busy for session in process.sessions.values()
            ):
                self._count_failure(seat)
            else:
                seat.failures = 0
        if self._owner is not None:
            self._owner.start(process.channel.aclose())  # whoever keeps it waits for this
            self._owner.start(process.finish_seeking())
        if getattr(process.channel, "is_replaced", False):
            log.error("%s was taken over by another hub on the same journal", process.agent)
            for session in list(process.sessions.values()):
                session.process = None  # what becomes of its turn, the other hub writes down
            return
        if process.is_dismissed:
            log.info("agent %s has ended", process.agent)
        else:
            seat.last_error = process.over
            seat.last_end = {} if process.end is None else process.end.details()
            log.warning("%s", process.over)
        for session in list(process.sessions.values()):
            session.on_agent_end(process)

    # Sessions and processes.

    async def make(self, name: str, params: dict[str, Any]) -> tuple[AgentProcess, dict[str, Any]]:
        """Create a new session of the agent; return its answer."""
        _check_wall(self.seat(name).spec, params)
        process = await self.ensure_process(name)
        answer = value_of(await process.call("session/new", params, within=LOAD_SECONDS), {})
        if not isinstance(answer, dict) or not isinstance(answer.get("sessionId"), str):
            raise CallFailed(-32603, f"{name} made a session without an id")
        return process, answer

    async def bind(self, session: LiveSession) -> SessionProcess:
        """Return a process that knows the session. The binding completes even if the caller leaves."""
        process = session.process
        if process is not None and not process.over and not session.binding.in_use:  # nearly always
            process.used = asyncio.get_running_loop().time()
            return process
        future: asyncio.Future[SessionProcess] = asyncio.get_running_loop().create_future()
        future.add_done_callback(retrieve_exception)
        self._tasks.start(_settle(future, self._bind(session)))
        return await asyncio.shield(future)

    async def _bind(self, session: LiveSession) -> SessionProcess:
        async with session.binding:
            if session.process is not None and not session.process.over:
                session.process.used = asyncio.get_running_loop().time()
                return session.process
            if session.state.parent:
                raise LinkClosed("a child session is its agent's own, and its agent has left it")
            process = await self.ensure_process(session.state.agent)
            own = process.own_ids.get(session.id)
            if own is not None:
                self._join_open(session, process, own)
            else:
                await self._bring_back(session, process)
            session.needs_reminder = False
            return process

    def _join_open(
        self,
        session: LiveSession,
        process: AgentProcess,
        own: str,
        *,
        note: BroughtBack | None = None,
        last_received: int = 0,
    ) -> None:
        """Join them, unless the session was closed meanwhile."""
        if session.state.phase != "open":
            self._tasks.start(_close_again(session, process, own))
            raise LinkClosed("the session was closed while its agent was being started")
        process.join(session, own, note=note, last_received=last_received)

    async def _bring_back(self, session: LiveSession, process: AgentProcess) -> None:
        state = session.state
        if state.phase != "open":
            raise LinkClosed("the session was closed while its agent was being started")
        params: dict[str, Any] = {"cwd": state.cwd, "mcpServers": [], **session.setup}
        if state.folders and process.can("sessionCapabilities", "additionalDirectories"):
            params["additionalDirectories"] = state.folders
        _check_wall(self.seat(process.agent).spec, params)
        for method, can in (
            ("session/resume", process.can("sessionCapabilities", "resume")),
            ("session/load", process.can("loadSession")),
        ):
            if can and await self._load(
                session, process, method, {**params, "sessionId": state.agent_session}
            ):
                return
        with process.making():
            _, answer = await self.make(process.agent, params)
            own = str(answer.pop("sessionId"))
            if (name := agents_name(own, session.id)) is not None:
                await session.hub.journal.describe(session.stream, session=name)
            note = BroughtBack(session=own, result=answer, remembers=state.turns == 0)
            self._join_open(session, process, own, note=note)

    async def _load(
        self, session: LiveSession, process: AgentProcess, method: str, params: dict[str, Any]
    ) -> bool:
        """Let the process bring the session back. False if it refuses."""
        load = _begin_load(session, process, method)
        await load.send(params)
        try:
            await self._finish_load(load)
        except CallFailed as error:
            log.info("%s does not bring session %s back (%s)", process.agent, session.id, error.message)
            return False
        return True

    async def load_first(
        self, session: LiveSession, process: SessionProcess, params: Mapping[str, Any]
    ) -> None:
        """Load a session that only the process knows, to the end, even if the caller leaves. If that fails,
        the session is discarded. Raises the same as `AgentProcess.call`.
        """
        assert isinstance(process, AgentProcess)
        load = _begin_load(session, process, "session/load")
        await asyncio.shield(self._start_first(load, dict(params)))

    def go_on_loading(self, session: LiveSession) -> None:
        """Continue a load that the previous hub had started."""
        process = self.find_process(session.state.agent)
        assert process is not None  # the session has just been bound to it
        load = SessionLoad(session, process, session.state.loading, "session/load")
        if not process.has_load(session.state):
            load.fail_unsent()
        if load.is_first:
            self._start_first(load, None)
        else:
            self._tasks.start(self._go_on_loading(load))

    async def _go_on_loading(self, load: SessionLoad) -> None:
        async with load.session.binding:  # a prompt waits for it
            with suppress(DragomanError, TimeoutError):
                await self._finish_load(load)

    def _start_first(self, load: SessionLoad, params: dict[str, Any] | None) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.add_done_callback(retrieve_exception)
        self._first_loads[load.session.id] = future
        self._tasks.start(_settle(future, self._load_first(load, params)))
        return future

    async def _load_first(self, load: SessionLoad, params: dict[str, Any] | None) -> None:
        session = load.session
        try:
            async with session.binding:
                if params is not None:
                    await load.send(params)
                await self._finish_load(load)
        except (DragomanError, TimeoutError):
            await discard(session)
            raise
        finally:
            self._first_loads.pop(session.id, None)
        await session.log.flush(STORE_SECONDS)
        state = session.state  # how it stands, it has said itself: a prompt may run by now
        await session.hub.journal.describe(session.id, agent=state.agent, cwd=state.cwd)

    async def wait_until_loaded(self, session: LiveSession) -> None:
        """Wait until the session's first load has ended in any way."""
        future = self._first_loads.get(session.id)
        if future is not None:
            await asyncio.wait((future,))

    async def _finish_load(self, load: SessionLoad) -> None:
        """Raises why the process does not know the session. Cancelled, it is left to the next hub."""
        session, process = load.session, load.process
        try:
            answer = await load.result()
            remembers = None if load.is_first else not session.needs_reminder
            note = BroughtBack(session=load.own, result=answer, remembers=remembers)
            self._join_open(session, process, load.own, note=note, last_received=load.answer_number)
        except (DragomanError, TimeoutError):
            await load.give_up()
            raise
        load.finish()

    # Rest and end.

    async def _look(self) -> None:
        """Stop processes that were unused for long."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for seat in self.seats.values():
                process = seat.process
                if process is None or process.over or not process.is_calm:
                    continue
                if now - process.used > seat.spec.idle:
                    log.info("%s was stopped: unused for %g s", process.agent, seat.spec.idle)
                    process.is_dismissed = True
                    await process.channel.aclose()

    async def dismiss(self, name: str) -> None:
        """End the agent's process, if there is one. Raises `LocalMistake` if it is at work."""
        seat = self.seats.get(name)
        if seat is None:
            return
        process = seat.process
        if seat.starting.locked() or (process is not None and not process.over and not process.is_calm):
            raise LocalMistake(f"{name} is at work: wait until its turns have ended, or cancel them")
        if process is not None and not process.over:
            process.is_dismissed = True
            await process.channel.aclose()

    async def leave(self) -> None:
        """Leave the agents that outlive us, and end the others. One without an `initialize` answer is of no
        use to the next hub.
        """
        useless = {seat.beginning for seat in self.seats.values()}

        def how(process: AgentProcess) -> Awaitable[None]:
            return (
                process.channel.leave()
                if process.survives and process not in useless
                else process.channel.aclose()
            )

        await self._end(how)

    async def aclose(self) -> None:
        """End all agents."""
        await self._end(lambda process: process.channel.aclose())

    async def _end(self, how: Callable[[AgentProcess], Awaitable[None]]) -> None:
        if self._owner is not None:
            await self._owner.aclose()
        processes = self._processes()
        for process in processes:
            process.is_dismissed = True
        await asyncio.gather(*(process.stop_seeking() for process in processes))
        results = await asyncio.gather(*(how(process) for process in processes), return_exceptions=True)
        for error in results:
            if isinstance(error, Exception) and not isinstance(error, DragomanError):
                log.error("an agent could not be ended", exc_info=error)


def _check_wall(spec: AgentSpec, params: Mapping[str, Any]) -> None:
    """A session outside of the sandbox would only meet refusals. Raises `CallFailed`."""
    if not spec.roots:
        return
    plain = msgspec.json.decode(msgspec.json.encode(params))  # a client's are raw, those of a session are not
    for folder in map(os.path.normpath, (plain["cwd"], *plain.get("additionalDirectories", ()))):
        if not any(is_below(folder, root) for root in spec.roots):
            raise CallFailed(
                -32602,
                f"{folder} is outside of the sandbox of {spec.name}, which works in {spec.roots[0]}; "
                f"choose a folder in it, or change agents.{spec.name}.cwd in the hub's file",
            )


async def _open_channel(spec: AgentSpec) -> AgentChannel:
    try:
        return await spec.open()
    except SpawnFailed as error:
        message = f"agent {spec.name}: {error}"
        log.warning("%s", message)
        raise AgentFailed(message, AgentEnd(agent=spec.name).details()) from error


async def _close_again(session: LiveSession, process: AgentProcess, own: str) -> None:
    """Close a session that was closed while the agent was loading it. First that is stored: else the hub
    after a crash takes the process for one that knows the session.
    """
    if process.can("sessionCapabilities", "close"):
        with suppress(DragomanError, TimeoutError):
            async with asyncio.timeout(LOAD_SECONDS):
                await session.wait_until_stored()
                if process.sessions.get(own, session) is session:  # else it was opened and loaded again
                    await process.call("session/close", {"sessionId": own})


def _begin_load(session: LiveSession, process: AgentProcess, method: str) -> SessionLoad:
    number = process.next_id()
    session.bind(process, load=number, last_received=process.last_frame)
    return SessionLoad(session, process, number, method)


T = TypeVar("T")


async def _settle(future: asyncio.Future[T], work: Coroutine[object, None, T]) -> None:
    """Give the result of the work to its waiters."""
    try:
        result = await work
    except Exception as error:  # noqa: BLE001  # whoever waits is told
        future.set_exception(error)
    except BaseException:
        future.cancel()
        raise
    else:
        future.set_result(result)


async def _ignore_session(process: AgentProcess, session_id: str) -> None:
    pass
