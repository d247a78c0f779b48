"""How a session comes to be open at this hub, and how it goes to another one.

A session that was somebody else's is read to its end, and one entry written behind it: what its owner before
still writes is refused from then on. Only then is anything done in it.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from dragoman.errors import ErrorAnswer, JournalError, StreamMoved
from dragoman.hub.gists import recalled
from dragoman.hub.log import STORE_SECONDS
from dragoman.hub.notes import note
from dragoman.hub.recall import Memory, is_name
from dragoman.hub.recovery import take_up
from dragoman.hub.session import HubSession
from dragoman.journal import Entry, StreamInfo
from dragoman.journal.redaction import is_redacted
from dragoman.journal.runs import last_of
from dragoman.wire.codes import session_not_found

if TYPE_CHECKING:
    from dragoman.hub.hub import Hub

log = logging.getLogger(__name__)


async def open_session(hub: Hub, session_id: str) -> HubSession:
    """Raises `Elsewhere` for one that another node has."""
    info = None if not is_name(session_id) else await hub.journal.info(session_id)
    if info is None or info.last == 0:
        raise session_not_found(session_id[:200])
    if len(hub.sessions) >= hub.options.sessions:
        raise ErrorAnswer(-32603, "Internal error: too many sessions are open")
    claim = await hub.belonging.claim(session_id)
    try:
        memory, last, gist_at = await _read(hub, session_id, info.last, taken=claim.taken)
    except BaseException:
        await hub.belonging.release(claim)
        raise
    originals = await hub.journal.originals(session_id)
    memory.restore(originals)
    _restore_folders(memory, info)
    memory.title = memory.title or info.title
    session = HubSession(hub, session_id, memory, agent=memory.agent, last=last)
    session.claim = claim
    session.gist_at = gist_at
    session.state = info.state
    if info.state == "closed":
        memory.process = 0  # whoever knew it was told to forget it
    life = hub.pool.seats[memory.agent].life if memory.agent in hub.pool.seats else None
    if life is not None and life.knows(memory.agent_session, memory.process):
        hub.pool.join(session, life, memory.agent_session)
    hub.sessions[session_id] = session
    session.pending.recall(session, originals)
    if claim.taken:
        await take_up(hub, session)
    return session


async def _read(hub: Hub, session_id: str, end: int, *, taken: bool) -> tuple[Memory, int, int]:
    """What it has come to, its last entry, and the end of its last gist."""
    # A journal of our own has no gists, and is read faster than they would be looked for.
    memory, last, gist_at = await recalled(hub.journal, session_id, end if hub.belonging.is_shared else 0)
    while True:
        if not memory.agent:  # somebody else's stream in the same journal
            raise session_not_found(session_id)
        if not taken:
            return memory, last, gist_at
        try:
            return memory, await hub.journal.append(session_id, [_taken_over()], after=last), gist_at
        except StreamMoved:
            pass  # its owner before has written something meanwhile: that counts
        async for page in hub.journal.replay(session_id, after=last):
            memory.see(page)
            last = last_of(page)


def _restore_folders(memory: Memory, info: StreamInfo) -> None:
    """A folder may be called like a key. What is known about a stream is not redacted; any other folder that
    was is left out, until a client brings it again.
    """
    if is_redacted(memory.cwd.encode(errors="replace")):
        memory.cwd = info.cwd or memory.cwd
    whole = [folder for folder in memory.folders if not is_redacted(folder.encode(errors="replace"))]
    if len(whole) < len(memory.folders):
        log.warning("session %s: folders of which only a redacted name is stored are left out", info.stream)
        memory.folders = whole


def _taken_over() -> Entry:
    return Entry("note", note("owned"), time.time())


async def hand_over(hub: Hub, session: HubSession) -> None:
    """Let another node have it: what is stored is all there is, and whoever follows it goes there. One in
    which prompts wait is given to a certain node: they go on although nobody asks for the session.
    """
    try:
        await session.log.flush(STORE_SECONDS)
    except JournalError:
        return  # somebody has taken it meanwhile
    waits = bool(session.memory.queue)
    await lose(hub, session)
    await (hub.belonging.give if waits else hub.belonging.release)(session.claim)


async def lose(hub: Hub, session: HubSession) -> None:
    """It is not ours any more: nothing is said or written about it from here on."""
    if hub.sessions.get(session.id) is not session:
        return
    del hub.sessions[session.id]
    hub.described.get(session.stream, {}).pop("state", None)  # its next owner says how it stands
    life, session.life = session.life, None
    if life is not None:
        life.part_from(session)
    followers = list(session.followers)
    await session.aclose()
    hub.desk.forgotten(session)
    hub.extras.forget(session)
    hub.changes.forget(session.id)
    for client in followers:
        client.followed.pop(session.id, None)
        client.forget(session.id)
