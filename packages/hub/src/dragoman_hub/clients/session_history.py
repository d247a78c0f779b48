"""Reads a session's history from the journal: pages before or after a position, and its turns.

A page costs as much as it holds, wherever it stands in the session. The turns of a session are found by
reading all of it once, without a look at what its agent said; after that, what came since is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Raw, Struct

from dragoman.wire import Request, decode
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub
from dragoman_hub.clients.entry_messages import HistoryView, messages
from dragoman_hub.clients.request_checks import checked_cursor
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.frames import object_of, ours_in, value_of
from dragoman_hub.session.notes import read_note
from dragoman_local.journal import Page, StoredEntry
from dragoman_local.journal.entry_runs import RunPage

HISTORY_BYTES = 4 * 1024 * 1024
"""The most bytes of one page."""

MOST_TURNS = 10_000
"""The most turns in one answer, and to remember of a session; the first are left out."""

MOST_RECORDS = 200
"""The most sessions whose turns are remembered; above it, all are forgotten."""

TITLE = 80
"""The most characters of a turn's title."""


class _TurnRecord(Struct):
    """The turns up to an entry. `key` is of the prompt that the last of them began with."""

    upto: int = 0
    turns: list[JsonObject] = []
    key: str = ""


class SessionHistory:
    """Reads the hub's journal and changes nothing."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub
        self._known: dict[str, _TurnRecord] = {}

    async def page_before(self, session: LiveSession, before: str | None, *, limit: int) -> JsonObject:
        """Return the last entries before a position, as a watcher would have received them."""
        end = session.last_visible
        if before is not None:
            position = checked_cursor(session, before, "before")
            end = min(end, position.sequence - (0 if position.part else 1))
        start = max(0, end - limit)
        entries: list[StoredEntry] = []
        size = 0
        async for page in self._hub.journal.replay(session.stream, after=start, limit=end - start):
            entries += page
            size += sum(len(entry.frame) for entry in page)
        while size > HISTORY_BYTES and len(entries) > 1:
            size -= len(entries.pop(0).frame)
        return {"messages": _told(session, entries), "more": bool(entries) and entries[0].sequence > 1}

    async def page_after(self, session: LiveSession, after: str, *, limit: int) -> JsonObject:
        """Return the first entries after a position, and the cursor for the next ones."""
        last = checked_cursor(session, after, "after").sequence
        entries: list[StoredEntry] = []
        size = 0
        limit = min(limit, max(0, session.last_visible - last))
        async for page in self._hub.journal.replay(session.stream, after=last, limit=limit):
            for entry in page:
                size += len(entry.frame)
                if size > HISTORY_BYTES and entries:
                    break
                entries.append(entry)
                last = entry.sequence
            if size > HISTORY_BYTES:
                break
        return {
            "messages": _told(session, entries),
            "more": last < session.last_visible,
            "cursor": str(last),
        }

    async def turns(self, session: LiveSession) -> JsonObject:
        """Return each turn's beginning, title and outcome."""
        if len(self._known) >= MOST_RECORDS and session.stream not in self._known:
            self._known.clear()
        record = self._known.setdefault(session.stream, _TurnRecord())
        async for page in self._hub.journal.replay(session.stream, after=record.upto):
            for entry in _apart_from_updates(page):
                if entry.sequence > record.upto:  # somebody else may have asked meanwhile
                    _read_turn(record, entry)
            record.upto = max(record.upto, page[-1].sequence if type(page) is not RunPage else page.last)
        del record.turns[:-MOST_TURNS]
        return {"turns": list(record.turns)}

    def forget(self, session_id: str) -> None:
        self._known.pop(session_id, None)


def _told(session: LiveSession, entries: list[StoredEntry]) -> list[JsonObject]:
    return [
        {"cursor": str(entry.sequence), "time": entry.time, "message": Raw(message[:-1])}
        for entry in entries
        for message in messages(session.id, entry, HistoryView(session))
    ]


def _apart_from_updates(page: Page) -> Iterator[StoredEntry]:
    """What the agent says is nearly everything, and is not even taken apart."""
    if type(page) is not RunPage:
        yield from (entry for entry in page if entry.direction != "to_client")
        return
    first = page.first
    for run in page.runs:
        if run.direction != "to_client":
            yield from RunPage(first, (run,))
        first += len(run.frames)


def _read_turn(record: _TurnRecord, entry: StoredEntry) -> None:
    if entry.direction == "to_agent":
        message = decode(entry.frame) if b'"session/prompt"' in entry.frame else None
        if isinstance(message, Request) and message.method == "session/prompt":
            params = object_of(message.params)
            _end_turn(record, "stopped")  # a session has one turn at a time
            record.turns.append({"cursor": str(entry.sequence), "title": _title(params), "state": "running"})
            record.key = str(ours_in(params).get("key", ""))
        return
    note = read_note(entry.frame) if b'"turn_ended"' in entry.frame else None
    if note is not None and note.hub == "turn_ended" and note.key == record.key:
        _end_turn(record, _state(note.result if isinstance(note.result, Raw) else None))


def _end_turn(record: _TurnRecord, state: str) -> None:
    if record.turns and record.turns[-1]["state"] == "running":
        record.turns[-1]["state"] = state


def _title(params: dict[str, Raw]) -> str:
    blocks = value_of(params.get("prompt"))
    texts = (
        [block.get("text") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    )
    text = "".join(text for text in texts if isinstance(text, str))
    return " ".join(text[: 2 * TITLE].split())[:TITLE].rstrip()


def _state(result: Raw | None) -> str:
    if result is None:
        return "failed"
    reason = value_of(object_of(result).get("stopReason"))
    return "done" if reason in ("end_turn", None) else "stopped"
