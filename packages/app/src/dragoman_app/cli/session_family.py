"""Exports a hub's session and its child sessions as one transcript.

A hub keeps a child session as a stream of its own, and the parent's stream names it. A recording without a
hub has all of it in one stream. Here the streams of a family become what such a recording is: entries by
their times, each stream in its own order, with one id for each session. The header says who works for whom.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from heapq import heappop, heappush

from msgspec import Struct

from dragoman_hub.session.frames import may_name_sessions, with_names
from dragoman_hub.session.notes import read_note
from dragoman_local.journal import Entry, Journal, StreamInfo
from dragoman_local.journal.transcript import export, header, line

MOST_STREAMS = 2048
"""The most streams of one family in a transcript; a hub allows no more in a session, unless its children have
many.
"""


class FamilyMember(Struct, frozen=True, kw_only=True):
    """One stream of a family."""

    stream: str
    parent: str = ""
    """The parent stream; empty for the first."""
    title: str = ""


class SessionFamily:
    """The streams of a session and of all its subagents, each before its own children."""

    def __init__(self) -> None:
        self.members: dict[str, FamilyMember] = {}
        self.names: dict[str, dict[str, str]] = {}
        """By stream: what the agent calls its children, and the hub."""
        self.agent_ids: dict[str, set[str]] = {}
        """By stream: what its agents call the session."""

    async def read(self, journal: Journal, stream: str) -> SessionFamily:
        self.members[stream] = FamilyMember(stream=stream)
        remaining = [stream]
        while remaining:
            parent = remaining.pop()
            children, self.agent_ids[parent] = await _children_in(journal, parent)
            for own, child in children.items():
                info = await journal.info(child)
                if info is None or child in self.members or len(self.members) >= MOST_STREAMS:
                    continue  # it was deleted, or there are too many
                self.members[child] = FamilyMember(stream=child, parent=parent, title=info.title)
                self.names.setdefault(parent, {})[own] = child
                remaining.append(child)
        return self

    def name_of(self, stream: str, own: str) -> str:
        """Return the stream of the session with the agent's id `own`."""
        while stream:
            if own in self.names.get(stream, {}):
                return self.names[stream][own]
            stream = self.members[stream].parent
        return own


async def _children_in(journal: Journal, stream: str) -> tuple[dict[str, str], set[str]]:
    """What a stream of a hub says: its children by the agent's own ids, and the session's own ids in agents.
    Any other stream says nothing of it.
    """
    children: dict[str, str] = {}
    agent_ids: set[str] = set()
    is_first = True
    async for page in journal.replay(stream):
        for entry in page:
            note = read_note(entry.frame) if entry.direction == "note" else None
            if is_first and note is None:
                return {}, agent_ids  # no hub has written it
            is_first = False
            if note is not None and note.hub == "child":
                children[note.own or note.session] = note.session
            elif note is not None and note.hub == "bound":
                agent_ids.add(note.session)
    return children, agent_ids


async def export_family(journal: Journal, stream: str) -> AsyncIterator[bytes]:
    """Return a session with its children as a transcript, in pieces of whole lines."""
    family = await SessionFamily().read(journal, stream)
    if len(family.members) == 1:
        async for piece in export(journal, stream):
            yield piece
        return
    info = await journal.info(stream) or StreamInfo(stream=stream)
    yield header(info, children=[member for member in family.members.values() if member.parent])
    async for name, entry in _merge(journal, stream, family):
        yield line(_with_streams(entry, name, family), stream="" if name == stream else name)


def _with_streams(entry: Entry, stream: str, family: SessionFamily) -> Entry:
    """The entry, with the names of streams for the sessions that it names."""
    if entry.direction == "note" or not may_name_sessions(entry.frame):
        return entry
    frame = with_names(entry.frame, lambda own: family.name_of(stream, own))
    return Entry(entry.direction, frame, entry.time)


async def _merge(journal: Journal, stream: str, family: SessionFamily) -> AsyncIterator[tuple[str, Entry]]:
    """By time; a clock that was set back does not change the order within a stream. A child is read from
    where its parent's stream names it: only those that work at the same time are read at the same time.
    """
    waiting: list[tuple[float, int, str, Entry]] = []
    readers = {stream: _entries(journal, stream)}
    places = {name: place for place, name in enumerate(family.members)}

    async def read_next(name: str, not_before: float) -> None:
        entry = await anext(readers[name], None)
        if entry is not None:
            heappush(waiting, (max(not_before, entry.time), places[name], name, entry))

    await read_next(stream, 0.0)
    while waiting:
        time, _, name, entry = heappop(waiting)
        yield name, entry
        note = read_note(entry.frame) if entry.direction == "note" else None
        if note is not None and note.hub == "child" and note.session in family.members.keys() - readers:
            readers[note.session] = _entries(journal, note.session)
            await read_next(note.session, 0.0)
        await read_next(name, time)


async def _entries(journal: Journal, stream: str) -> AsyncIterator[Entry]:
    async for page in journal.replay(stream):
        for entry in page:
            yield entry.entry
