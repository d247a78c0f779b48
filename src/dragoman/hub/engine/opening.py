"""How a session comes to be open at this hub, and how it goes to another one.

A session that was somebody else's is read to its end, and one entry written behind it: what its owner before
still writes is refused from then on. Only then is anything done in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dragoman.errors import ErrorAnswer, JournalError, StreamMoved
from dragoman.hub.engine.checkpoints import Reading, read_on, read_session
from dragoman.hub.engine.live_session import LiveSession
from dragoman.hub.engine.log import STORE_SECONDS
from dragoman.hub.engine.ownership import Claim
from dragoman.hub.engine.recovery import read_unfinished, take_up
from dragoman.hub.session.notes import note
from dragoman.hub.session.state import SessionState, apply, is_name, opened, restore
from dragoman.journal import Entry, StreamInfo
from dragoman.journal.redaction import is_redacted
from dragoman.wire.codes import session_not_found

if TYPE_CHECKING:
    from dragoman.hub.agents.process import AgentProcess
    from dragoman.hub.hub import Hub

log = logging.getLogger(__name__)


async def open_session(hub: Hub, session_id: str) -> LiveSession:
    """Raises `Elsewhere` for one that another node has."""
    info = None if not is_name(session_id) else await hub.journal.info(session_id)
    if info is None or info.last == 0:
        raise session_not_found(session_id[:200])
    if len(hub.sessions) >= hub.options.sessions:
        raise ErrorAnswer(-32603, "Internal error: too many sessions are open")
    claim = await hub.belonging.claim(session_id)
    try:
        reading = await _read(hub, session_id, info.last, taken=claim.taken)
        if reading.state.phase == "closed":  # it was deleted, and the hub that did so was stopped meanwhile
            await hub.journal.delete(session_id)
            raise session_not_found(session_id)
        originals = await hub.journal.originals(session_id)
        state = _opened(reading.state, originals, info)
        life = _process_of(hub, state)
        # Nobody forgets a session in the middle of something: whoever had it before is gone.
        is_unfinished = claim.taken or not is_calm(state) or info.state in ("running", "waiting")
        unfinished = await read_unfinished(hub, state, life) if is_unfinished else None
    except BaseException:
        await _give_up(hub, claim)
        raise
    # From here on nothing waits: whoever finds the session finds it whole.
    session = LiveSession(hub, state, agent=state.agent, listed=info.state)
    session.claim = claim
    session.checkpoint_at = reading.checkpoint_at
    session.calls = reading.calls
    if life is not None and life is _process_of(hub, state):
        hub.pool.join(session, life, state.agent_session)
        if state.loading:
            hub.pool.go_on_loading(session, life)
    hub.sessions[session_id] = session
    session.pending.recall(session, originals)
    if session.life is not None and state.parent:
        hub.children.on_open(session)
    if unfinished is not None:
        take_up(hub, session, unfinished)
    return session


def _process_of(hub: Hub, state: SessionState) -> AgentProcess | None:
    """The process that knows the session since a hub before this one."""
    life = hub.pool.seats[state.agent].life if state.agent in hub.pool.seats else None
    return life if life is not None and life.knows(state.agent_session, state.process) else None


async def _give_up(hub: Hub, claim: Claim) -> None:
    """It could not be read. What its owner before had begun must still be taken up, by whoever opens it."""
    if claim.taken:
        hub.belonging.lost(claim.session)
    else:
        await hub.belonging.release(claim)


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


async def _read(hub: Hub, session_id: str, end: int, *, taken: bool) -> Reading:
    """What it has come to; one that was somebody else's gets an entry that says that it is ours."""
    # A journal of our own has no checkpoints, and is read faster than they would be looked for.
    reading = await read_session(hub.journal, session_id, end if hub.belonging.is_shared else 0)
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


async def hand_over(hub: Hub, session: LiveSession) -> None:
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
    state = session.state
    await lose(hub, session)
    if state.queue:
        await hub.belonging.give(session.claim, agent=state.agent, cwd=state.cwd)
    else:
        await hub.belonging.release(session.claim)


async def lose(hub: Hub, session: LiveSession) -> None:
    """It is not ours any more: nothing is said or written about it from here on."""
    if hub.sessions.get(session.id) is not session:
        return
    del hub.sessions[session.id]
    hub.described.get(session.stream, {}).pop("state", None)  # its next owner says how it stands
    life = session.life
    if life is not None:
        life.part_from(session)
        session.unbind()
    followers = list(session.followers)
    for follower in session.followers.values():
        follower.leave(moves=True)
    await session.aclose()
    hub.desk.forgotten(session)
    hub.extras.forget(session)
    hub.changes.forget(session.id)
    for client in followers:
        client.followed.pop(session.id, None)
        client.forget(session.id)
