"""The gist of a session: all that its entries say so far, written into its stream now and then.

To open a session is to know what it has come to. Its whole stream says that, and on a journal of another
machine a year of small turns takes seconds to read: too long for whoever waits for the sessions of a node
that died. So a shared journal gets a note for every few hundred entries from which a reading can begin. It
is made by reading the stream, like any other opening, and not from what the hub has in mind: a wrong gist
would be a wrong session for ever. Without one, everything is read.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dragoman.errors import JournalError
from dragoman.hub.recall import Gist, Memory, read_gist
from dragoman.journal import Journal, Stored
from dragoman.journal.runs import last_of

if TYPE_CHECKING:
    from dragoman.hub.hub import Hub
    from dragoman.hub.live_session import HubSession

log = logging.getLogger(__name__)

EVERY = 250
"""Entries between two gists, at least: the next one is written when a turn begins or ends."""

SPANS = (2 * EVERY, 60 * EVERY)
"""How far back a gist is looked for before everything is read: the second for long turns."""


async def recalled(journal: Journal, session_id: str, end: int) -> tuple[Memory, int, int]:
    """What a session has come to, up to which entry, and where its last gist ends."""
    for span in SPANS:
        if span < end:
            found = await recalled_from(journal, session_id, end - span)
            if found is not None:
                return found
    memory, last = Memory(session_id), 0
    async for page in journal.replay(session_id):
        memory.see(page)
        last = last_of(page)
    return memory, last, 0


async def recalled_from(journal: Journal, session_id: str, begin: int) -> tuple[Memory, int, int] | None:
    """The same, if there is a gist behind the entry `begin`."""
    entries: list[Stored] = []
    gist: Gist | None = None
    async for page in journal.replay(session_id, after=begin):
        for stored in page:
            found = read_gist(stored.frame) if stored.direction == "note" else None
            if found is not None and found.upto >= begin:
                gist = found
        entries += page
    if gist is None:
        return None
    memory = Memory.of(session_id, gist)
    memory.see([stored for stored in entries if stored.sequence > gist.upto])
    return memory, entries[-1].sequence, gist.upto


def is_due(session: HubSession) -> bool:
    return session.log.last - session.gist_at >= EVERY


async def write_gist(hub: Hub, session: HubSession) -> None:
    """If it is known how the stream stands, and the session is still ours when it is."""
    before, session.gist_at = session.gist_at, session.log.last
    try:
        found = await recalled_from(hub.journal, session.stream, before) if before else None
        memory, last, _ = found or await recalled(hub.journal, session.stream, session.log.last)
    except (JournalError, TimeoutError) as error:
        log.info("session %s gets no gist now: %s", session.id, error)
        return
    if hub.sessions.get(session.id) is session:
        session.gist_at = last
        session.log.add([("note", memory.gist(last))], lambda _: hub.resting(session))
