"""Which sessions a token may use: those of its agents whose folders are all in its roots.

A session has a working folder and perhaps others, and its agent works in all of them. One folder outside is
enough to keep a token with roots from it: from its list, its words, its questions and its turns. Folders have
to be looked at before they are asked about (`Grant.look_at`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session.notes import read_note
from dragoman_hub.session.state import SessionState
from dragoman_local.journal import Journal, StreamInfo


class SessionHolder(Protocol):
    """The parts of the hub that are used here."""

    @property
    def journal(self) -> Journal: ...
    @property
    def sessions(self) -> Mapping[str, LiveSession]: ...


def reaches(grant: Grant, state: SessionState) -> bool:
    """Whether a token may use an open session, by its last resolved folders."""
    return grant.may_use(state.agent) and all(map(grant.may_open, state.places))


async def look_and_reach(grant: Grant, state: SessionState) -> bool:
    """Check the same after resolving the folders now."""
    await grant.look_at(state.places)
    return reaches(grant, state)


async def in_reach(hub: SessionHolder, grant: Grant, infos: Iterable[StreamInfo]) -> list[StreamInfo]:
    """Return the journal's sessions that the token may see. For one that is not open, its original folders
    count.
    """
    infos = [info for info in infos if grant.may_use(info.agent)]
    if not grant.roots:
        return infos
    places = await _places_of(hub, infos)
    await grant.look_at({place for session_places in places for place in session_places})
    return [
        info
        for info, session_places in zip(infos, places, strict=True)
        if all(map(grant.may_open, session_places))
    ]


async def _places_of(hub: SessionHolder, infos: Sequence[StreamInfo]) -> list[tuple[str, ...]]:
    first = await hub.journal.first_entries(
        [info.stream for info in infos if info.stream not in hub.sessions]
    )
    places: list[tuple[str, ...]] = []
    for info in infos:
        session, entry = hub.sessions.get(info.stream), first.get(info.stream)
        made = None if entry is None else read_note(entry.frame)
        more = session.state.places if session is not None else () if made is None else made.folders
        places.append((info.cwd, *more))
    return places
