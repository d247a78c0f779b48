"""How a session comes to be open at this hub, and how it goes to another one.

A session that was somebody else's is read to its end, and one entry written behind it: what its owner before
still writes is refused from then on. Only then is anything done in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from dragoman.errors import ErrorAnswer, JournalError, StreamMoved
from dragoman.hub.engine.checkpoints import Reading, read_on, read_session
from dragoman.hub.engine.live_session import EngineHub, LiveSession, SessionProcess
from dragoman.hub.engine.log import STORE_SECONDS
from dragoman.hub.engine.ownership import SessionLease
from dragoman.hub.engine.recovery import read_unfinished, take_up
from dragoman.hub.session.notes import note
from dragoman.hub.session.state import SessionState, apply, is_name, opened, restore
from dragoman.journal import Entry, StreamInfo
from dragoman.journal.redaction import is_redacted
from dragoman.wire.codes import session_not_found

log = logging.getLogger(__name__)


async def open_session(hub: EngineHub, session_id: str) -> LiveSession:
    """Raises `Elsewhere` for one that another node has."""
    info = None if not is_name(session_id) else await hub.journal.info(session_id)
    if info is None or info.last == 0:
        raise session_not_found(session_id[:200])
    if len(hub.sessions) >= hub.options.sessions:
        raise ErrorAnswer(-32603, "Internal error: too many sessions are open")
    lease = await hub.ownership.claim(session_id)
    try:
        reading = await _read(hub, session_id, info.last, taken=lease.taken)
        if reading.state.phase == "closed":  # it was deleted, and the hub that did so was stopped meanwhile
            await hub.journal.delete(session_id)
            raise session_not_found(session_id)
        originals = await hub.journal.originals(session_id)
        state = _opened(reading.state, originals, info)
        process = _process_of(hub, state)
        # Nobody forgets a session in the middle of something: whoever had it before is gone.
        is_unfinished = lease.taken or not is_calm(state) or info.state in ("running", "waiting")
        unfinished = await read_unfinished(hub, state, process) if is_unfinished else None
    except BaseException:
        await _give_up(hub, lease)
        raise
    # From here on nothing waits: whoever finds the session finds it whole.
    session = LiveSession(hub, state, agent=state.agent, listed=info.state)
    session.lease = lease
    session.checkpoint_at = reading.checkpoint_at
    session.calls = reading.calls
    if process is not None and process is _process_of(hub, state):
        process.join(session, state.agent_session)
        if state.loading:
            hub.pool.go_on_loading(session)
    hub.sessions[session_id] = session
    session.pending.recall(state, session.process, originals)
    if session.process is not None and state.parent:
        hub.children.on_open(session)
    if unfinished is not None:
        take_up(hub, session, unfinished)
    return session


def _process_of(hub: EngineHub, state: SessionState) -> SessionProcess | None:
    """The process that knows the session since a hub before this one."""
    process = hub.pool.find_process(state.agent)
    return process if process is not None and process.knows(state.agent_session, state.process) else None


async def _give_up(hub: EngineHub, lease: SessionLease) -> None:
    """It could not be read. What its owner before had begun must still be taken up, by whoever opens it."""
    if lease.taken:
        hub.ownership.lost(lease.session)
    else:
        await hub.ownership.release(lease)


def is_calm(state: SessionState) -> bool:
    """Whether nothing is under way in it."""
    return not (state.is_busy or state.queue or state.requests or state.loading)


def _opened(state: SessionState, originals: Mapping[int, bytes], info: StreamInfo) -> SessionState:
    whole = opened(
        restore(state, originals, is_redacted),
        title=info.title,
        cwd=info.cwd,
        is_closed=info.state == "closed",
        is_redacted=is_redacted,
    )
    if len(whole.folders) < len(state.folders):
        log.warning("session %s: folders of which only a redacted name is stored are left out", info.stream)
    return whole


async def _read(hub: EngineHub, session_id: str, end: int, *, taken: bool) -> Reading:
    """What it has come to; one that was somebody else's gets an entry that says that it is ours."""
    # A journal of our own has no checkpoints, and is read faster than they would be looked for.
    reading = await read_session(hub.journal, session_id, end if hub.ownership.is_shared else 0)
    while True:
        if not reading.state.agent:  # somebody else's stream in the same journal
            raise session_not_found(session_id)
        if not taken:
            return reading
        entry = _taken_over()
        try:
            await hub.journal.append(session_id, [entry], after=reading.state.last)
        except StreamMoved:  # its owner before has written something meanwhile: that counts
            reading = await read_on(hub.journal, reading)
        else:
            state = apply(reading.state, entry.direction, (entry.frame,), entry.time)
            return reading._replace(state=state)


def _taken_over() -> Entry:
    return Entry("note", note("owned"), time.time())


async def hand_over(hub: EngineHub, session: LiveSession) -> None:
    """Let another node have it: what is stored is all there is, and whoever follows it goes there. One in
    which prompts wait is given to a certain node: they go on although nobody asks for the session.
    """
    try:
        await session.log.flush(STORE_SECONDS)
    except JournalError:
        return  # somebody has taken it meanwhile
    if not session.log.is_idle:
        # It stays here until the hub ends, as by a crash: the agent's host says again what is not stored.
        return
    waits = bool(session.state.queue)
    await lose(hub, session)
    await (hub.ownership.give if waits else hub.ownership.release)(session.lease)


async def lose(hub: EngineHub, session: LiveSession) -> None:
    """It is not ours any more: nothing is said or written about it from here on."""
    if hub.sessions.get(session.id) is not session:
        return
    del hub.sessions[session.id]
    hub.described.get(session.stream, {}).pop("state", None)  # its next owner says how it stands
    process = session.process
    if process is not None:
        process.part_from(session)
        session.unbind()
    followers = list(session.followers)
    for follower in session.followers.values():
        follower.leave(moves=True)
    await session.aclose()
    hub.broker.forget(session)
    hub.reminders.forget(session.id)
    hub.changes.forget(session.id)
    for client in followers:
        client.forget(session.id)
