"""How a session is opened at this hub, and how it moves to another one.

A session is made by an agent for a client, taken over from an agent that alone knew it, or opened from its
stream. One that was somebody else's is read to its end, and one entry written behind it: what its owner
before still writes is refused from then on. Only then is anything done in it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

from msgspec import Raw

from dragoman.errors import Elsewhere, ErrorAnswer, JournalError, StreamMoved
from dragoman.wire import error_object
from dragoman.wire.codes import CANCELLED as REQUEST_CANCELLED
from dragoman.wire.codes import session_not_found
from dragoman_hub.engine.checkpoints import SessionReading, read_on, read_session
from dragoman_hub.engine.live_session import LOAD_GIVEN_UP, EngineHub, LiveSession, SessionProcess
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.engine.ownership import SessionLease
from dragoman_hub.engine.recovery import read_unfinished, take_up
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import value_of
from dragoman_hub.session.notes import note
from dragoman_hub.session.state import (
    SAVED_STATES,
    SessionState,
    apply,
    is_name,
    new_state,
    restore,
    with_listing,
)
from dragoman_local.journal import Entry, StreamInfo
from dragoman_local.journal.erasure import FORGETTING, SessionNames
from dragoman_local.journal.redaction import is_redacted

log = logging.getLogger(__name__)

ASKING: Final = "dragoman-asking-"
"""The prefix of ids of sessions that exist only for a question; no agent's session gets such an id."""

SESSION_MOVED = error_object(REQUEST_CANCELLED, "Request cancelled: another node has the session")

Made: TypeAlias = asyncio.Future[tuple[LiveSession, bool]]
"""A session, and whether it is new."""


# Sessions that are in the journal.


async def open_session(hub: EngineHub, session_id: str) -> LiveSession:
    """Open a session. Raises `Elsewhere` if another node owns it."""
    info = None if not is_name(session_id) else await hub.journal.info(session_id)
    if info is None or info.last == 0:
        raise session_not_found(session_id[:200])
    if len(hub.sessions) >= hub.options.sessions:
        raise ErrorAnswer(-32603, "Internal error: too many sessions are open")
    lease = await hub.ownership.claim(session_id)
    try:
        reading = await _read(hub, lease, info.last)
        process = _process_of(hub, reading.state)
        is_loading = bool(reading.state.loading) and process is not None
        is_erased = reading.state.phase == "closed" or info.state == FORGETTING
        if is_erased or (reading.state.is_incomplete and not is_loading):
            # Whoever deleted it, or asked an agent that is gone to load it, was stopped in the middle.
            await hub.ownership.may_use(lease)
            _refuse_requests(hub, reading.state)
            await hub.eraser.erase([SessionNames(session_id, (reading.state.agent_session,))])
            raise session_not_found(session_id)
        originals = await hub.journal.originals(session_id)
        state = _restore_state(reading.state, originals, info)
        # Nobody forgets a session in the middle of something: whoever had it before is gone.
        is_unfinished = (
            lease.is_taken_over
            or not state.is_calm
            or info.state in ("running", "waiting")
            or (process is not None and bool(state.parent))  # listed behind what happens in it
        )
        unfinished_work = await read_unfinished(hub, state, process) if is_unfinished else None
    except BaseException:
        await _give_up(hub, lease)
        raise
    # From here on nothing waits: whoever finds the session finds it whole.
    session = LiveSession(hub, state, listed_state=info.state)
    session.lease = lease
    session.checkpoint_at = reading.checkpoint_at
    session.calls = reading.calls
    session.continue_message(reading.message_frame)
    if process is not None and process is _process_of(hub, state):
        process.join(session, state.agent_session)
        if state.loading:
            hub.pool.go_on_loading(session)
    hub.sessions[session_id] = session
    session.pending.recall(state, session.process, originals)
    if session.process is not None and state.parent:
        hub.children.on_open(session)
    if unfinished_work is not None:
        take_up(hub, session, unfinished_work)
    return session


def _refuse_requests(hub: EngineHub, state: SessionState) -> None:
    """The agent need not wait for what it has asked in a session that is gone."""
    process = _process_of(hub, state)
    ids = [request.id for request in state.requests.values() if not request.is_own]
    if process is not None and ids:
        process.refuse(ids, LOAD_GIVEN_UP, number=state.last_received, name=state.agent_session)


def _process_of(hub: EngineHub, state: SessionState) -> SessionProcess | None:
    """The process that knows the session since a hub before this one."""
    process = hub.pool.find_process(state.agent)
    return process if process is not None and process.knows(state.agent_session, state.process) else None


async def _give_up(hub: EngineHub, lease: SessionLease) -> None:
    """Give up on a session that could not be read. What its owner before had begun must still be taken up, by
    whoever opens it.
    """
    if lease.is_taken_over:
        hub.ownership.on_lost(lease.session)
    else:
        await hub.ownership.release(lease)


def _restore_state(state: SessionState, originals: Mapping[int, bytes], info: StreamInfo) -> SessionState:
    whole = with_listing(
        restore(state, originals, is_redacted),
        title=info.title,
        cwd=info.cwd,
        # A listing may be behind: a session in the middle of something was opened again.
        is_closed=info.state in SAVED_STATES and state.is_calm,
        is_redacted=is_redacted,
    )
    if len(whole.folders) < len(state.folders):
        log.warning("session %s: folders of which only a redacted name is stored are left out", info.stream)
    return whole


async def _read(hub: EngineHub, lease: SessionLease, end: int) -> SessionReading:
    """Read the state of a session; one that was somebody else's gets an entry that says that it is ours."""
    session_id = lease.session
    # A journal of our own has no checkpoints, and is read faster than they would be looked for.
    reading = await read_session(hub.journal, session_id, end if hub.ownership.is_shared else 0)
    while True:
        if not reading.state.agent:  # somebody else's stream in the same journal
            raise session_not_found(session_id)
        if not lease.is_taken_over:
            return reading
        # To read takes time, in which another node may have taken it from us, and written.
        await hub.ownership.may_use(lease)
        entry = Entry("note", note("owned"), time.time())
        try:
            await hub.journal.append(session_id, [entry], after=reading.state.last)
        except StreamMoved:  # its owner before has written something meanwhile: that counts
            reading = await read_on(hub.journal, reading)
        else:
            state = apply(reading.state, entry.direction, (entry.frame,), entry.time)
            return reading._replace(state=state)


async def hand_over(hub: EngineHub, session: LiveSession) -> None:
    """Give the session to another node: its stored entries are complete, and its followers move there. A
    session with waiting prompts is given to a certain node, so that they continue even if no client asks for
    the session.
    """
    try:
        await session.log.flush(STORE_SECONDS)
    except JournalError:
        return  # somebody has taken it meanwhile
    if not session.log.is_idle:
        # It stays here until the hub ends, as by a crash: the agent's host says again what is not stored.
        return
    for child in list(hub.children.open_children(session)):
        await hand_over(hub, child)
    state = session.state
    if not session.is_movable:  # a message into its turn, a load or a request came while it was stored
        return  # it is handed over when it rests again
    await lose(hub, session)
    if state.queue:
        await hub.ownership.give(session.lease, agent=state.agent, cwd=state.cwd)
    else:
        await hub.ownership.release(session.lease)


async def lose(hub: EngineHub, session: LiveSession) -> None:
    """Stop using a session that another node owns: nothing more is sent or written about it."""
    if hub.sessions.get(session.id) is not session:
        return
    del hub.sessions[session.id]
    hub.pending_descriptions.get(session.stream, {}).pop("state", None)  # its next owner says how it stands
    process = session.process
    if process is not None:
        ids = session.unanswered_requests()
        if ids and not process.over:
            number, own = session.state.last_received, process.own_ids.get(session.id, session.id)
            process.refuse(ids, SESSION_MOVED, number=number, name=own)
        process.part_from(session)
        session.unbind()
    followers = session.followers
    for follower in followers:
        follower.leave(moves=True)
    await session.aclose()
    hub.broker.forget(session)
    hub.reminders.forget(session.id)
    hub.changes.forget(session.id)
    for follower in followers:
        follower.client.forget(session.id)


# New sessions.


@asynccontextmanager
async def reserve_id(hub: EngineHub, candidate: str) -> AsyncIterator[str]:
    """Return the agent's own id if the hub can use it too. If two agents choose the same one at the same
    moment, the second waits here until the first has created a session or a stream with it.
    """
    async with hub.opening(candidate):
        is_ours = _may_be_agents(candidate) and candidate not in hub.sessions
        yield candidate if is_ours and await _is_free(hub, candidate) else str(uuid.uuid4())


def _may_be_agents(session_id: str) -> bool:
    return is_name(session_id) and not session_id.startswith(ASKING)


async def _is_free(hub: EngineHub, session_id: str) -> bool:
    """Whether no session of any node has this id; from then on none will, but ours."""
    try:
        lease = await hub.ownership.claim(session_id)
    except Elsewhere:
        return False
    info = await hub.journal.info(session_id)
    if info is None or info.last == 0:  # a hub that was killed may have described it before its first entry
        return True
    await hub.ownership.release(lease)
    return False


def agents_name(own: str, session_id: str) -> str | None:
    """Return the agent's id for a session, for the journal's listing: an agent that outlives the hub may use
    it for a session that is not open. None if it is the name of the stream.
    """
    return None if own == session_id else own


async def make(
    hub: EngineHub,
    agent: str,
    params: dict[str, Raw],
    *,
    key: str = "",
    source: LiveSession | None = None,
) -> LiveSession:
    """Create a new session of an agent. `source` is the session of another agent that continues in it."""
    if len(hub.sessions) >= hub.options.sessions:
        raise ErrorAnswer(-32603, "Internal error: too many sessions are open")
    process = await hub.pool.ensure_process(agent)
    with process.making():
        _, answer = await hub.pool.make(agent, params)
        own = str(answer.pop("sessionId"))
        async with reserve_id(hub, own) as session_id:
            session = LiveSession(hub, new_state(session_id), listed_state="idle")
            session.lease = await hub.ownership.claim(session_id)
            hub.sessions[session_id] = session
        folders = value_of(params.get("additionalDirectories"), [])
        event = ev.SessionMade(
            agent=agent,
            cwd=value_of(params.get("cwd"), ""),
            folders=tuple(folders) if isinstance(folders, list) else (),
            session=own,
            result=answer,
            process=process.process_id,
            key=key,
            last_taken=process.last_number(session_id),
            title="" if source is None else source.state.title,
            source="" if source is None else source.stream,
            source_end=0 if source is None else source.log.last,
        )
        session.dispatch(event)
        if "mcpServers" in params:
            session.bring_servers(value_of(params["mcpServers"], []))
        process.join(session, own)
    await session.log.flush(STORE_SECONDS)
    await hub.journal.describe(
        session_id,
        agent=agent,
        cwd=session.state.cwd,
        state="idle",
        session=agents_name(own, session_id),
    )
    hub.on_session_change(session)
    return session


async def made_once(
    hub: EngineHub, key: str, make: Callable[[], Awaitable[LiveSession]]
) -> tuple[LiveSession, bool]:
    """Return the session that was created under this key, or a new one; and whether it is new.

    It is made to the end though its client leaves meanwhile. Whoever sends the same key before that waits for
    the same session.
    """
    if not key:
        return await make(), True
    session_future = hub.making.get(key)
    is_first = session_future is None
    if session_future is None:
        session_future = hub.making[key] = asyncio.get_running_loop().create_future()
        session_future.add_done_callback(lambda future: future.cancelled() or future.exception())
        hub.owner.start(_make_under(hub, key, make, session_future))
    session, is_new = await asyncio.shield(session_future)
    return session, is_new and is_first


async def is_made(hub: EngineHub, key: str) -> bool:
    """Whether a session was created under this key, or is being created."""
    return bool(key) and (key in hub.making or await hub.journal.find_stream_by_key(key) is not None)


async def _make_under(
    hub: EngineHub, key: str, make: Callable[[], Awaitable[LiveSession]], session_future: Made
) -> None:
    try:
        stream = await hub.journal.find_stream_by_key(key)
        session = await (make() if stream is None else hub.session(stream))
    except Exception as error:  # noqa: BLE001  # everybody who waits is told
        session_future.set_exception(error)
    except BaseException:
        session_future.cancel()
        raise
    else:
        session_future.set_result((session, stream is None))
    finally:
        del hub.making[key]


async def load(
    hub: EngineHub, session_id: str, params: dict[str, Raw], *, agent: str, grant: Grant
) -> LiveSession | None:
    """Load a session that only the agent knows; from then on the hub has it too. None if it is known here, or
    can't be loaded.
    """
    if not _may_be_agents(session_id) or session_id in hub.sessions:
        return None
    async with hub.opening(session_id):
        return await _load(hub, session_id, params, agent=agent, grant=grant)


async def _load(
    hub: EngineHub, session_id: str, params: dict[str, Raw], *, agent: str, grant: Grant
) -> LiveSession | None:
    if session_id in hub.sessions or await hub.journal.info(session_id) is not None:
        return None
    cwd = value_of(params.get("cwd"), "")
    if grant.roots or not grant.may("prompt"):  # in which folders its agent has it, nobody here knows
        return None
    await hub.broker.permit_servers(params, agent=agent, cwd=str(cwd))
    process = await hub.pool.ensure_process(agent)
    if not process.can("loadSession"):
        return None
    session = LiveSession(hub, new_state(session_id), listed_state="idle")
    session.lease = await hub.ownership.claim(session_id)
    event = ev.SessionMade(
        agent=agent,
        cwd=str(cwd),
        folders=(),
        session=session_id,
        process=process.process_id,
        last_taken=process.last_number(session_id),
        is_load=True,
    )
    session.dispatch(event)
    hub.sessions[session_id] = session
    await hub.pool.load_first(session, process, params)
    return session


async def discard(session: LiveSession) -> None:
    """Discard a session that its agent could not load. If it can't be deleted now, it is deleted when it is
    opened.
    """
    hub = session.hub
    if session.state.phase == "lost" or hub.sessions.get(session.id) is not session:
        return  # another node may have it by now
    del hub.sessions[session.id]
    with suppress(JournalError):
        await session.log.flush(STORE_SECONDS)  # what arrived behind the deletion would make it anew
    await session.aclose()
    with suppress(JournalError):
        await hub.journal.delete(session.id)
    await hub.ownership.release(session.lease)


def widen(session: LiveSession, folders: list[str]) -> None:
    """Set the session's further folders; its agent learns of them with the next prompt. Nothing changes
    during a turn.
    """
    if session.dispatch(ev.FoldersChanged(folders=tuple(folders))) != "done":
        return
    process = session.process
    if process is not None and process.can("sessionCapabilities", "additionalDirectories"):
        process.forget(session)
        session.unbind()
