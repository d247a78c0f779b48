"""The progress of sessions in short: the last line, the turn's start, its cost and its changes.

For screens that show many sessions at once and follow none of them. What is read of a session is the end of
its stream, bounded in entries and in bytes, and no session is opened for it. A session that has not moved
since it was read is not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from dragoman.errors import JournalError
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.views import SessionViews
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.frames import object_of, value_of
from dragoman_hub.session.notes import read_note
from dragoman_local.journal import StoredEntry
from dragoman_local.journal.conversation import moments

MOST_SESSIONS = 100
"""The most sessions in one answer."""

TAIL = 96
"""The entries to read of a stream: enough for a last line and for the usage at a turn's end."""

TAIL_BYTES = 512 * 1024
"""The most bytes of them to keep; large outputs of tools are not a line."""

LINE = 240
"""The most characters of the last line."""

MOST_RECORDS = 2000
"""The most sessions whose progress is remembered; above it, all are forgotten."""

LINE_KINDS = frozenset({"prompt", "message", "thought", "tool", "permission", "error"})
"""Kinds of moments that show what a session is doing."""


class _ProgressRecord(Struct, frozen=True, kw_only=True):
    last: int
    is_running: bool
    progress: JsonObject


class SessionProgress:
    """Reads the hub's journal and changes nothing."""

    def __init__(self, hub: ClientHub, views: SessionViews) -> None:
        self._hub = hub
        self._views = views
        self._known: dict[str, _ProgressRecord] = {}

    async def describe(self, client: HubClient, session_ids: Iterable[str]) -> list[JsonObject]:
        """Return the progress of those sessions that exist and that the client may see, in order."""
        unique_ids = list(dict.fromkeys(session_ids))[:MOST_SESSIONS]
        visible = [name for name in unique_ids if await self._views.may_see(client, name)]
        return [await self._of(session_id) for session_id in visible]

    def forget(self, session_id: str) -> None:
        """Forget a session's changes, which are out of date."""
        self._known.pop(session_id, None)

    async def _of(self, session_id: str) -> JsonObject:
        session = self._hub.sessions.get(session_id)
        info = await self._hub.journal.info(session_id)
        last = session.log.last if session is not None else 0 if info is None else info.last
        is_running = session is not None and session.state.turn is not None
        record = self._known.get(session_id)
        if record is not None and (record.last, record.is_running) == (last, is_running):
            return record.progress
        progress = await self._read(session_id, session, last)
        if len(self._known) >= MOST_RECORDS:
            self._known.clear()
        self._known[session_id] = _ProgressRecord(last=last, is_running=is_running, progress=progress)
        return progress

    async def _read(self, session_id: str, session: LiveSession | None, last: int) -> JsonObject:
        progress: JsonObject = {"sessionId": session_id, "cursor": str(last)}
        try:
            entries = await self._tail(session_id, last)
            turn_start = await self._turn_start(session)
        except JournalError:  # deleted meanwhile, or damaged: a board goes on without its line
            return progress
        if (line := last_line(entries)) is not None:
            progress["line"] = line
        if (usage := last_usage(entries, session)) is not None:
            progress["usage"] = usage
        if turn_start:
            progress["turnStarted"] = turn_start
        elif (changes := await self._hub.changes.tally(session_id)) is not None:
            progress["changes"] = changes
        return progress

    async def _tail(self, session_id: str, last: int) -> list[StoredEntry]:
        entries: list[StoredEntry] = []
        size = 0
        start = max(0, last - TAIL)
        async for page in self._hub.journal.replay(session_id, after=start, limit=last - start):
            for entry in page:
                entries.append(entry)
                size += len(entry.frame)
            while size > TAIL_BYTES:
                size -= len(entries.pop(0).frame)
        return entries

    async def _turn_start(self, session: LiveSession | None) -> float:
        """When the turn that runs was given to the agent, in seconds since 1970; 0 if none runs."""
        turn = None if session is None else session.state.turn
        if session is None or turn is None:
            return 0.0
        async for page in self._hub.journal.replay(session.stream, after=turn.sequence - 1, limit=1):
            for entry in page:
                return entry.time
        return 0.0


def last_line(entries: Sequence[StoredEntry]) -> JsonObject | None:
    """Return the last line about the session's work: `{kind, text, time}`."""
    frames = [entry for entry in entries if entry.direction != "note"]
    candidates = [
        (moment.last, str(moment.kind), moment.text, moment.time)
        for moment in moments(frames)
        if moment.kind in LINE_KINDS
    ]
    candidates += [
        (entry.sequence, "error", reason, entry.time)
        for entry in entries
        if entry.direction == "note" and (reason := _failure(entry.frame))
    ]
    for _, kind, text, time in sorted(candidates, reverse=True):
        lines = [line for line in map(str.strip, text.splitlines()) if line]
        if lines:
            line = lines[-1] if kind in ("message", "thought") else lines[0]
            return {"kind": kind, "text": line if len(line) <= LINE else f"…{line[-LINE:]}", "time": time}
    return None


def _failure(frame: bytes) -> str:
    """Why a turn failed or an agent went, if a note says so."""
    note = read_note(frame)
    if note is None or note.hub not in ("turn_ended", "agent_gone"):
        return ""
    message = value_of(object_of(note.error).get("message"), note.reason)
    return message if isinstance(message, str) else ""


def last_usage(entries: Sequence[StoredEntry], session: LiveSession | None) -> Any:
    """Return the agent's latest tokens and cost; None if there are no recent ones."""
    for entry in reversed(entries):
        if b'"usage_update"' in entry.frame:
            update = object_of(object_of(object_of(entry.frame).get("params")).get("update"))
            if value_of(update.get("sessionUpdate")) == "usage_update":
                return _usage(update)
    last_update = {} if session is None else session.state.update(b"usage_update")
    return _usage(last_update) if last_update else None


def _usage(update: dict[str, Any]) -> JsonObject:
    return {name: value for name, value in update.items() if name in ("used", "size", "cost")}
