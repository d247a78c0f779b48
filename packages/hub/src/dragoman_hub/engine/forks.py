"""Forks a session at its end or at an earlier turn: copies its history, and asks its agent to fork."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from dragoman.errors import CallFailed
from dragoman.wire import Notification, Request, decode
from dragoman_hub.engine.lifecycle import agents_name, reserve_id
from dragoman_hub.engine.live_session import EngineHub, LiveSession, SessionProcess
from dragoman_hub.engine.ports import read_cursor
from dragoman_hub.engine.reminders import source_of
from dragoman_hub.session.frames import value_of, with_session_id
from dragoman_hub.session.machine import CANCELLED
from dragoman_hub.session.notes import note, read_note
from dragoman_hub.session.state import fold, new_state
from dragoman_local.journal import Entry, StoredEntry

BATCH = 1000


async def fork(
    hub: EngineHub, source: LiveSession, params: dict[str, Raw], before: object, *, key: str = ""
) -> LiveSession:
    """Fork a session. `before` is a cursor: later entries are left out. The fork works in the folders of
    `params`, or in those of its source, and its agent gets a note.
    """
    folders = _folders(source, params)
    end = source.log.last
    if isinstance(before, str):
        read = read_cursor(before)
        end = min(end, max(0, read.sequence - 1)) if read is not None else end
    process = await _forking_process(hub, source) if end == source.log.last else None
    if process is None:
        return await _copy_session(hub, source, end, folders=folders, key=key)
    with process.making():  # what the agent says of the fork waits until its past is copied
        answer = await _forked_by_agent(process, source, params)
        return await _copy_session(
            hub, source, end, folders=folders, process=process if answer else None, answer=answer, key=key
        )


def _folders(source: LiveSession, params: dict[str, Raw]) -> Sequence[str]:
    """The working folder, and behind it the others."""
    cwd, more = value_of(params.get("cwd")), value_of(params.get("additionalDirectories"))
    return (
        cwd if isinstance(cwd, str) and cwd else source.state.cwd,
        *(source.state.folders if not isinstance(more, list) else more),
    )


async def _copy_session(
    hub: EngineHub,
    source: LiveSession,
    end: int,
    *,
    folders: Sequence[str],
    process: SessionProcess | None = None,
    answer: dict[str, Any] | None = None,
    key: str,
) -> LiveSession:
    """A session with the past of another one. `answer` is what the agent said when it made the fork."""
    own = answer.pop("sessionId") if answer else ""
    members: dict[str, object] = {
        "agent": source.state.agent,
        "cwd": folders[0],
        "folders": list(folders[1:]),
    }
    if source.state.source:
        members |= {
            "source": source.state.source,
            "sourceEnd": (await source_of(hub.journal, source.stream)).end,
        }
    result = answer or {name: value_of(raw) for name, raw in source.state.agent_answer.items()}
    async with reserve_id(hub, str(own) or str(uuid.uuid4())) as session_id:
        first = Entry("note", note("made", **members, session=str(own) or session_id, result=result), 0.0)
        await hub.journal.append(session_id, [first])
    await _copy(hub, source, session_id, end)
    await _finish(hub, session_id, str(own), process, key)
    title = source.state.title
    await hub.journal.describe(
        session_id,
        agent=source.state.agent,
        cwd=folders[0],
        title=title,
        state="idle",
        session=agents_name(str(own), session_id) if own else None,
    )
    session = await hub.session(session_id)
    session.needs_reminder = not own and session.state.turns > 0
    if process is not None and not process.over:
        process.join(session, str(own))
    return session


async def _finish(
    hub: EngineHub, session_id: str, own: str, process: SessionProcess | None, key: str
) -> None:
    """Behind all that was copied: prompts among that were never for the process that knows the fork, and a
    fork that was broken off is not found by its key.
    """
    notes: list[bytes] = []
    if process is not None:
        last_taken = process.last_number(session_id)
        notes.append(note("bound", session=own, n=process.process_id, taken=last_taken))
    if key:
        notes.append(note("forked", key=key))
    if notes:
        await hub.journal.append(session_id, [Entry("note", frame, time.time()) for frame in notes])


async def _forking_process(hub: EngineHub, source: LiveSession) -> SessionProcess | None:
    """The process that knows the session, if it can fork it."""
    if source.state.parent:
        return None  # a child is its agent's own
    process = await hub.pool.bind(source)
    return process if process.can("sessionCapabilities", "fork") else None


async def _forked_by_agent(
    process: SessionProcess, source: LiveSession, params: dict[str, Raw]
) -> dict[str, Any] | None:
    """The agent's answer to a fork; None if it has made no fork."""
    own = process.own_ids.get(source.id, source.id)
    try:
        called = process.call(
            "session/fork",
            {**params, "sessionId": own},
            waits_for_person=lambda: source.state.waits_for_person,
        )
        answer = value_of(await called, {})
    except CallFailed:
        return None
    return answer if isinstance(answer, dict) and isinstance(answer.get("sessionId"), str) else None


async def _copy(hub: EngineHub, source: LiveSession, session_id: str, end: int) -> None:
    batch: list[Entry] = []
    state = new_state(source.id)
    async for page in hub.journal.replay(source.stream, after=0, limit=end):
        state = fold(state, page)
        batch += [copy for entry in page if (copy := _copy_entry(entry, session_id)) is not None]
        if len(batch) >= BATCH:
            await hub.journal.append(session_id, batch)
            batch = []
    if state.turn is not None:  # it goes on in the other session alone
        batch.append(Entry("note", note("turn_ended", key=state.turn.key, result=CANCELLED), time.time()))
    if batch:
        await hub.journal.append(session_id, batch)


def _copy_entry(entry: StoredEntry, session_id: str) -> Entry | None:
    """An entry for the other stream; None for what was between the agent and its clients alone."""
    if entry.direction == "note":
        entry_note = read_note(entry.frame)
        is_turn_end = entry_note is not None and entry_note.hub == "turn_ended"
        return Entry("note", entry.frame, entry.time) if is_turn_end else None
    match entry.direction, decode(entry.frame):
        case ("to_client", Notification()) | ("to_agent", Request(method="session/prompt")):
            return Entry(entry.direction, with_session_id(entry.frame, session_id), entry.time)
    return None  # an answer, a request that has been answered, a cancel
