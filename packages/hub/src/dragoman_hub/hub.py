"""The hub: sessions of any number of agents, and the clients that use them.

It owns the journal's streams, the agents' processes and the clients' connections, and joins them: a session
is opened from its stream when somebody asks for it, and forgotten when nothing is left to wait for. After a
crash, sessions that were in the middle of something are opened at once; what their agents have said meanwhile
is heard if the agents lived on, and a turn whose agent died is ended in so many words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import Raw

from dragoman.errors import ErrorAnswer, JournalError, LinkClosed, StreamMoved
from dragoman.runtime.locks import KeyedLock
from dragoman.runtime.owner import TaskOwner
from dragoman.schema.waits import bound
from dragoman.transport.contract import Transport
from dragoman.wire import error_object, notification, request, response
from dragoman.wire.codes import INTERNAL_ERROR, session_not_found
from dragoman_hub.agents.installation import AgentInstaller
from dragoman_hub.agents.pool import AgentPool, AgentSpec
from dragoman_hub.clients.client import HubClient
from dragoman_hub.clients.follower import ClientFollower
from dragoman_hub.clients.methods import Methods
from dragoman_hub.clients.views import SessionViews
from dragoman_hub.engine.agent_answers import CALL_SECONDS, answer_within
from dragoman_hub.engine.bounds import HubBounds
from dragoman_hub.engine.checkpoints import is_due, take_checkpoint
from dragoman_hub.engine.child_sessions import ChildSessions
from dragoman_hub.engine.lifecycle import Made, hand_over, lose, open_session
from dragoman_hub.engine.live_session import LiveSession, SessionFollower
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.engine.log_round import LogRound
from dragoman_hub.engine.options import HubOptions, Trace
from dragoman_hub.engine.ownership import Ownership, SoleOwnership
from dragoman_hub.engine.ports import Position
from dragoman_hub.engine.recovery import drop_overdue, recover
from dragoman_hub.engine.reminders import Reminders
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.pairing import Pairings
from dragoman_hub.judge.broker import ApprovalBroker
from dragoman_hub.judge.servers import drop_asking_sessions
from dragoman_hub.lending.far_folder import FarSide
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_hub.push.notifier import PushNotifier
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json, value_of, without_ours
from dragoman_local.journal import Journal
from dragoman_local.journal.erasure import SessionEraser, SessionNames
from dragoman_local.workspace.tree_store import store_beside

log = logging.getLogger(__name__)

WRITTEN_BY_OTHERS = error_object(
    INTERNAL_ERROR, "Internal error: another program has written to this session: send the prompt again"
)

RELEASE_LOOK_SECONDS = 15.0
"""The most seconds between two searches for unused sessions."""


class Hub:
    """Use `async with Hub(journal, agents) as hub:`, and give connections to `accept`."""

    def __init__(
        self,
        journal: Journal,
        agents: Mapping[str, AgentSpec],
        *,
        options: HubOptions | None = None,
        remember: Callable[[str, dict[str, Any] | None], dict[str, Any]] | None = None,
        trace: Trace | None = None,
        ownership: Ownership | None = None,
    ) -> None:
        """`trace` returns the `_meta` with which each prompt goes to its agent; `ownership` knows who owns a
        session.
        """
        self.ownership: Ownership = ownership or SoleOwnership()
        self.journal = journal
        self.bounds = HubBounds()
        self.log_round = LogRound()
        self.options = options or HubOptions()
        self.default_agent = self.options.default_agent
        self.pool = AgentPool(
            agents, remember=remember or (lambda name, answer: answer or {}), log_round=self.log_round
        )
        self.sessions: dict[str, LiveSession] = {}
        self.clients: set[HubClient] = set()
        self.broker = ApprovalBroker(self)
        self.children = ChildSessions(self)
        self.reminders = Reminders(journal)
        self.changes = TurnChanges(
            is_enabled=self.options.changes,
            keep_seconds=self.options.changes_kept,
            store=(
                store_beside(self.options.trees, seal=self.options.trees_seal) if self.options.trees else None
            ),
        )
        self.changes.far_side = self._far_side
        self.eraser = SessionEraser(journal)
        """Forgets sessions. Whoever keeps anything of a session registers there."""
        self.eraser.register(self._erase_changes)
        self.views = SessionViews(self)
        self.methods = Methods(self, self.views)
        self.trace = trace
        self.status_of: Callable[[], Awaitable[Any]] | None = None
        """Says how the hub stands; whoever runs it sets it."""
        self.pairings: Pairings | None = None
        """Gives devices tokens of their own; whoever runs the hub sets it."""
        self.installer: AgentInstaller | None = None
        """Installs agents that clients ask for; whoever runs the hub sets it."""
        self.push: PushNotifier | str = ""
        """Tells devices whose page is closed, or why nobody does; whoever runs the hub sets it."""
        self.route: Callable[[Transport, Grant, str], HubClient] | None = None
        """Stands between a connection and us, in a cluster."""
        self.draining = False
        self._is_closed = False
        self.rest_event = asyncio.Event()
        """Some session has come to rest; whoever waits for that clears it."""
        self._opening: dict[str, KeyedLock] = {}
        self.making: dict[str, Made] = {}
        """Sessions that are being made under a key."""
        self.pending_descriptions: dict[str, dict[str, str]] = {}
        """Streams of which something is being written for listings, and what is to be written next."""

    def _far_side(self, session_id: str) -> FarSide | None:
        """Where the agent of a session is, and so its folders; None if it is on this machine."""
        session = self.sessions.get(session_id)
        seat = None if session is None else self.pool.seats.get(session.state.agent)
        if session is None or seat is None or not seat.spec.place:
            return None

        async def call(method: str, params: dict[str, Any]) -> Any:
            if seat.process is None:
                raise LinkClosed("the agent does not run")
            return value_of(await seat.process.call(method, params))

        return FarSide(place=seat.spec.place, session_id=session.state.agent_session, call=call)

    async def __aenter__(self) -> Hub:
        self.owner = TaskOwner("hub")
        self.pool.start()
        self.pool.find = self.children.find
        self.owner.start(self._release_unused())
        await self.changes.open()
        await drop_asking_sessions(self)
        await recover(self)
        self.owner.start(drop_overdue(self))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self, *, keep_agents: bool = False) -> None:
        """Disconnect all clients. With `keep_agents`, agents that can outlive us keep running, with their
        turns.
        """
        if self._is_closed:
            return
        self.begin_draining()
        self._is_closed = True
        for client in list(self.clients):
            await client.aclose()
        await self.owner.aclose()  # nobody asks for a process any more
        await (self.pool.leave() if keep_agents else self.pool.aclose())
        for session in list(self.sessions.values()):
            with suppress(JournalError):  # another node has taken it meanwhile
                await session.log.flush(STORE_SECONDS)
            await session.aclose()
        self.sessions.clear()
        await self.owner.finish(STORE_SECONDS)  # what was stored last has changed how sessions stand
        await self.owner.aclose()
        await self.changes.aclose()
        await self.broker.aclose()

    # Clients.

    def accept(self, transport: Transport, grant: Grant, *, agent: str = "") -> HubClient:
        if self.route is not None:
            return self.route(transport, grant, agent)
        client = HubClient(self, transport, grant, agent=agent)
        self.clients.add(client)
        client.start()
        return client

    def on_client_left(self, client: HubClient) -> None:
        self.clients.discard(client)
        for session_id in list(client.followers):
            session = self.sessions.get(session_id)
            if session is not None:
                self.detach(client, session)
        self.owner.start(client.aclose())

    def attach(
        self,
        client: HubClient,
        session: LiveSession,
        position: Position,
        *,
        own: Iterable[str] = (),
        through: SessionFollower | None = None,
    ) -> ClientFollower:
        """Let a client follow a session. `own` are the keys of its earlier prompts. `through` is its follower
        of the parent, for a child session that it has not requested. Raises `LinkClosed` if it has left.
        """
        if client.closed_event.is_set():  # while it was being answered: nobody would ever detach it
            raise LinkClosed("the client has left")
        before = client.followers.pop(session.id, None)
        if before is not None:
            before.withdraw()
        follower = ClientFollower(session, client, position, through=through)
        follower.own |= set(own)
        if before is not None:
            follower.own |= before.own
        client.followers[session.id] = follower
        session.add_follower(follower)
        if client.seat is not None and not follower.is_silent:
            client.seat.stands(session.id, position)
        self.broker.on_attach(client, session)
        if session.state.children:
            self.children.on_attached(follower)
        return follower

    def detach(self, client: HubClient, session: LiveSession) -> None:
        follower = client.followers.pop(session.id, None)
        session.remove_follower(client)
        if follower is not None:
            follower.withdraw()
            if not client.closed_event.is_set():
                follower.answer_waiting()
            if client.seat is not None and not follower.is_silent:
                client.seat.stands(session.id, None)
            self.children.on_detached(follower)
        self.broker.on_detach(client, session)
        session.used = asyncio.get_running_loop().time()
        if not session.followers:
            self._alone(session)

    def _alone(self, session: LiveSession) -> None:
        """The last client has left; the work goes on, unless it is to end then."""
        if self.options.on_last_leave == "cancel" and session.state.is_busy:
            loop = asyncio.get_running_loop()
            loop.call_later(self.options.leave_after, self._cancel_alone, session)
        self.resting(session)

    def _cancel_alone(self, session: LiveSession) -> None:
        if not session.followers and not self.draining:
            session.cancel()

    # Sessions.

    async def session(self, session_id: str, *, may_load: bool = False) -> LiveSession:
        """Return the session, opened from the journal if necessary. Waits for its first load by its agent,
        unless `may_load`.
        """
        if session_id in self.sessions:
            await self.ownership.may_act()  # else another node may have gone on with it
        session = self.sessions.get(session_id)
        if session is None or session.state.phase != "open" or (session.state.is_incomplete and not may_load):
            session = await self._wait_and_open(session_id)
        if session.state.is_incomplete and not may_load:
            await self.pool.wait_until_loaded(session)
            if self.sessions.get(session_id) is not session or session.state.is_incomplete:
                raise session_not_found(session_id)
        return session

    async def _wait_and_open(self, session_id: str) -> LiveSession:
        async with self.opening(session_id):
            while (session := self.sessions.get(session_id)) is not None:
                if session.state.phase == "open":
                    return session
                if session.closed_event.is_set():
                    raise ErrorAnswer(INTERNAL_ERROR, "Internal error: the hub is being stopped")
                await session.closed_event.wait()
            return await open_session(self, session_id)

    @asynccontextmanager
    async def opening(self, name: str) -> AsyncIterator[None]:
        """Lock a session name, so that no other task opens or creates it."""
        lock = self._opening.setdefault(name, KeyedLock())
        try:
            async with lock:
                yield
        finally:
            if not lock.in_use:
                self._opening.pop(name, None)

    async def forget_closed(self, session: LiveSession, *, deletes: bool) -> None:
        """Forget a closed session; a deleted one can't be found any more."""
        await session.lookups.finish()  # a prompt that has its answer gets it, and any other is refused
        for follower in session.followers:
            follower.end()
        self.pending_descriptions.get(session.stream, {}).pop("state", None)
        try:
            if deletes:
                self.pending_descriptions.get(session.stream, {}).clear()
                await self.eraser.erase([SessionNames(session.stream, (session.state.agent_session,))])
            else:
                await self.journal.describe(session.stream, state="closed")
        except JournalError as error:
            log.warning("session %s is closed, and listed as if it were not: %s", session.id, error)
        self.changes.forget(session.id)
        await self._forget(session)

    async def _erase_changes(self, sessions: Sequence[SessionNames]) -> None:
        streams = [session.stream for session in sessions]
        for stream in streams:
            self.methods.erase(stream)
            self.broker.erase(stream)
        await self.changes.erase(streams)

    async def _forget(self, session: LiveSession) -> None:
        for follower in session.followers:
            follower.client.on_session_closed(session.id)
        self.sessions.pop(session.id, None)
        self.broker.forget(session)
        self.reminders.forget(session.id)
        await session.aclose()
        await self.ownership.release(session.lease)

    def resting(self, session: LiveSession) -> None:
        """Close an inactive session in memory; if nobody watches it, it is read from the journal when it is
        needed again.
        """
        self.rest_event.set()
        if self.draining and self.ownership.is_shared and not self._is_closed and session.is_movable:
            self.owner.start(hand_over(self, session))
        elif session.is_forgettable and not self.draining:
            self.owner.start(self._rest(session))

    async def _rest(self, session: LiveSession) -> None:
        await asyncio.sleep(0)
        if session.is_forgettable and self.sessions.get(session.id) is session:
            await self._forget(session)

    async def _release_unused(self) -> None:
        """Close unused sessions in their agents, where each costs memory and processes."""
        while True:
            seconds = self.options.release_after
            await asyncio.sleep(min(max(seconds / 4, 0.05), RELEASE_LOOK_SECONDS))
            self.children.rest_unused(seconds=seconds)
            if seconds <= 0:
                continue
            now = asyncio.get_running_loop().time()
            for session in list(self.sessions.values()):
                if now - session.used >= seconds and session.is_releasable:
                    self.owner.start(session.release())

    # What passes between a session and its agent besides prompts.

    async def ask(self, session: LiveSession, method: str, params: dict[str, Raw]) -> Raw:
        """Send a client's request to the session's agent, stored before and after."""
        process = await self.pool.bind(session)
        number = process.next_id()
        frame = request(number, method, encode_json(without_ours(params)))[:-1]
        async with asyncio.timeout(CALL_SECONDS):
            held = await session.bounds.answers.take(len(frame))
        with held:
            future = process.promise(number, method)
            session.dispatch(ev.FrameForAgent(frame=frame))
        seconds = bound(method, CALL_SECONDS, receiver="agent")
        result = await answer_within(future, seconds, waits_for_person=lambda: session.state.waits_for_person)
        session.pending.confirm(process.last_taken(session.state))
        session.dispatch(ev.FrameForClients(frame=response(number, bytes(result))[:-1]))
        await session.wait_until_stored()
        return result

    def pass_on(self, session: LiveSession, method: str, params: dict[str, Raw]) -> None:
        """Pass a notification on, or drop it if the agent does not read."""
        frame = notification(method, encode_json(without_ours(params)))[:-1]
        if session.bounds.answers.fits(len(frame)):
            session.dispatch(ev.FrameForAgent(frame=frame))
        else:
            agent = session.state.agent
            log.warning("agent %s does not read: the notification %s is dropped", agent, method[:80])

    def tell(self, session: LiveSession, update: dict[str, Any], *, note: bytes = b"") -> None:
        """An update of the hub's own, and the note behind it if there is one."""
        params = encode_json({"sessionId": session.id, "update": update})
        session.dispatch(ev.FrameForClients(frame=notification("session/update", params)[:-1], note=note))

    # What sessions tell.

    def on_session_change(self, session: LiveSession) -> None:
        self.views.on_change(session)
        if isinstance(self.push, PushNotifier):
            self.push.on_change(session)
        if self.ownership.is_shared and is_due(session) and not self._is_closed:
            self.owner.start(take_checkpoint(self, session))

    def on_failed_append(self, session: LiveSession, error: JournalError) -> bool:
        """Return whether a failed append is tried again. False if another program has written to the session:
        its new node, or an unknown program. Then none of our waiting entries is ever stored.
        """
        if isinstance(error, StreamMoved):
            if self.sessions.get(session.id) is not session:
                return False  # it was lost before, and may be open anew
            if self.ownership.is_shared:
                self.ownership.on_lost(session.id)
            else:
                self.owner.start(self._give_up_copy(session))
            return False
        self.broker.on_failed_append(session)
        return True

    async def _give_up_copy(self, session: LiveSession) -> None:
        """Drop the copy in memory, because another program wrote to the session; the next request reads the
        journal.
        """
        log.error("session %s: another program has written to it; it is read again", session.id)
        self.broker.on_failed_append(session)
        for client in list(self.clients):
            client.refuse_waiting(session.id, WRITTEN_BY_OTHERS)
        await lose(self, session)

    def begin_draining(self) -> None:
        """Start no more prompts: waiting ones are for the next hub."""
        self.draining = True
        for session in list(self.sessions.values()):
            session.dispatch(ev.Draining())

    async def will_run(self, session: LiveSession) -> None:
        """Note that a session will run: after a crash the next hub searches for running sessions; a cluster
        has its own list.
        """
        if session.log.state != "running" and not self.ownership.is_shared:
            await self.journal.describe(session.stream, state="running")

    def describe(self, session: LiveSession, **fields: str) -> None:
        """Update the listing soon: changes during a write of the journal are written together."""
        if "state" in fields:
            session.log.state = ""
        waiting = self.pending_descriptions.get(session.stream)
        if waiting is not None:
            waiting |= fields
        else:
            self.pending_descriptions[session.stream] = fields
            self.owner.start(self._describe(session.stream))

    async def _describe(self, stream: str) -> None:
        try:
            while fields := self.pending_descriptions[stream]:
                self.pending_descriptions[stream] = {}
                try:
                    await self.journal.describe(stream, **fields)
                except JournalError as error:
                    log.warning("session %s could not be described: %s", stream, error)
        finally:
            del self.pending_descriptions[stream]

    def check_rate(self, client: HubClient) -> None:
        wait = self.options.prompt_rate(client.grant.name) if self.options.prompt_rate else 0.0
        if wait > 0:
            raise ErrorAnswer(-32029, f"Too many prompts: wait {wait:.0f} s", {"retryAfter": wait})

    async def introduction(self, agent: str, *, start: bool) -> dict[str, Any]:
        """Return the agent's `initialize` answer; if there is none, start the agent for it, or return
        nothing.
        """
        seat = self.pool.seat(agent)
        if seat.initialize_result or not start:
            return seat.initialize_result
        return (await self.pool.ensure_process(agent)).initialize_result

    async def status(self) -> Any:
        return self.views.status() if self.status_of is None else await self.status_of()
