"""Reads the state of a session from its stream, and writes checkpoints into streams of remote journals.

A checkpoint is made by reading the stream, like any other opening, and not from what the hub has in memory: a
wrong one would be a wrong session for ever. Without one, everything is read.
"""

from __future__ import annotations

import logging
from itertools import chain
from typing import NamedTuple

from dragoman.errors import JournalError
from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.session import events as ev
from dragoman_hub.session.checkpoint import Checkpoint, read_checkpoint, state_at, write_checkpoint
from dragoman_hub.session.message_ids import last_message_frame
from dragoman_hub.session.state import SessionState, fold, new_state, tool_call_updates
from dragoman_local.journal import Journal, Page, StoredEntry
from dragoman_local.journal.entry_runs import RunPage
from dragoman_local.workspace.policy.tool_calls import ToolCalls

log = logging.getLogger(__name__)

EVERY = 250
"""The least entries between two checkpoints: the next one is written when a turn begins or ends."""

SPANS = (2 * EVERY, 60 * EVERY)
"""The entries in which a checkpoint is searched before everything is read: the second for long turns."""


class SessionReading(NamedTuple):
    """The state of a session as read from its stream."""

    state: SessionState
    calls: ToolCalls
    """The tool call updates in the part that was read."""
    checkpoint_at: int = 0
    """The last entry that a checkpoint covers."""
    message_frame: bytes = b""
    """The update that ends or continues its last message."""


async def read_session(journal: Journal, session_id: str, end: int) -> SessionReading:
    """Read the state from the whole stream. A checkpoint is searched before entry `end`."""
    for span in SPANS:
        if span < end:
            reading = await read_from_checkpoint(journal, session_id, end - span)
            if reading is not None:
                return reading
    return await read_on(journal, SessionReading(new_state(session_id), ToolCalls()))


async def read_on(journal: Journal, reading: SessionReading) -> SessionReading:
    """Read the same with the entries stored since then."""
    state, message_frame = reading.state, reading.message_frame
    async for page in journal.replay(state.id, after=state.last):
        state = fold(state, page)
        message_frame = _see_updates(reading.calls, state.id, page) or message_frame
    return reading._replace(state=state, message_frame=message_frame)


async def read_from_checkpoint(journal: Journal, session_id: str, begin: int) -> SessionReading | None:
    """Read the same from a checkpoint after the entry `begin`, if there is one."""
    entries: list[StoredEntry] = []
    latest: Checkpoint | None = None
    async for page in journal.replay(session_id, after=begin):
        for entry in page:
            checkpoint = read_checkpoint(entry.frame) if entry.direction == "note" else None
            if checkpoint is not None and checkpoint.upto >= begin:
                latest = checkpoint
        entries += page
    if latest is None:
        return None
    calls = ToolCalls()
    message_frame = _see_updates(calls, session_id, entries)
    state = fold(state_at(session_id, latest), entries)
    return SessionReading(state, calls, latest.upto, message_frame)


def _see_updates(calls: ToolCalls, session_id: str, page: Page) -> bytes:
    """Note the tool calls of a page; returns the update with which its last message stands."""
    runs = page.runs if isinstance(page, RunPage) else None
    frames = (
        [[entry.frame for entry in page if entry.direction == "to_client"]]
        if runs is None
        else [run.frames for run in runs if run.direction == "to_client"]
    )
    for update in chain.from_iterable(tool_call_updates(session_id, run) for run in frames):
        calls.hear(session_id, update)
    return next(filter(None, (last_message_frame(session_id, run) for run in reversed(frames))), b"")


def is_due(session: LiveSession) -> bool:
    return session.log.last - session.checkpoint_at >= EVERY


async def take_checkpoint(hub: EngineHub, session: LiveSession) -> None:
    """Store a checkpoint, if the stream's end is known and this node still owns the session."""
    before, session.checkpoint_at = session.checkpoint_at, session.log.last
    try:
        recent = await read_from_checkpoint(hub.journal, session.stream, before) if before else None
        reading = recent or await read_session(hub.journal, session.stream, session.log.last)
    except (JournalError, TimeoutError) as error:
        log.info("session %s gets no checkpoint now: %s", session.id, error)
        return
    if hub.sessions.get(session.id) is session:
        session.checkpoint_at = reading.state.last
        session.dispatch(ev.CheckpointTaken(frame=write_checkpoint(reading.state)))
