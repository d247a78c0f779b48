"""Recorded sessions: finds the session that a user means, and makes a brief of it for another agent."""

from __future__ import annotations

import time

import msgspec

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_local.journal import Entry, Journal, StreamInfo
from dragoman_local.journal.brief import BriefFold, ConversationBrief
from dragoman_local.journal.history import HistoryRecorder
from dragoman_local.journal.journal_copy import all_streams


class SessionMistake(LocalMistake):
    """A mistake with its text for the user."""


async def find_session(journal: Journal, name: str) -> StreamInfo:
    """Return the one session with this name, part of a name, agent's id, or `last`."""
    exact = await journal.info(name)
    if exact is not None:
        return exact
    if name == "last":
        latest = (await journal.list(limit=1)).streams
        if latest:
            return latest[0]
    infos = [
        info async for info in all_streams(journal) if info.stream.startswith(name) or info.session == name
    ]
    if infos and all(info.session == name for info in infos):
        return max(infos, key=lambda info: info.updated)  # it was gone on with: they are parts of one
    if len(infos) == 1:
        return infos[0]
    if infos:
        some = ", ".join(info.stream for info in infos[:5])
        raise SessionMistake(
            sanitize_line(f"{name!r} matches {len(infos)} sessions: {some}. Give more of the id")
        )
    raise SessionMistake(sanitize_line(f"no session {name!r}. Try: dragoman sessions list"))


async def read_brief(journal: Journal, info: StreamInfo) -> ConversationBrief:
    """Return the brief for an agent that continues this session. A local session that was continued is
    recorded in several streams; this one and all older ones are read.
    """
    infos = [info]
    if info.session and info.session != info.stream:
        infos += [
            other
            async for other in all_streams(journal, agent=info.agent)
            if other.session == info.session and other.stream != info.stream and other.created <= info.created
        ]
    fold = BriefFold()
    for part in sorted(infos, key=lambda part: part.created):
        fold.begin(part.agent)
        async for page in journal.replay(part.stream):
            fold.add_all(page)
    return fold.finish()


async def note_handover(
    journal: Journal, recorder: HistoryRecorder | None, source: str, *, stream: str, agent: str
) -> None:
    """Note in both sessions which agent continues where; the new session keeps the other's title."""
    info = await journal.info(source)
    if recorder is not None:
        title = "" if info is None else info.title
        recorder.note(stream, continues={"stream": source, **({"title": title} if title else {})})
    if info is not None:
        note = msgspec.json.encode({"continued": {"stream": stream, "agent": agent}})
        await journal.append(source, [Entry("note", note, time.time())])


def display_time(moment: float) -> str:
    """Format the time when a session began or was last used, for a list."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    except (OverflowError, ValueError, OSError):  # a clock can say anything
        return "?"
