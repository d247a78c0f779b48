"""Recovers after a crash: the hub continues the unfinished work of the previous process."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.errors import Elsewhere, ErrorAnswer, JournalDamaged, JournalError
from dragoman.wire import Failure, Response, decode, error_object, failure
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_hub.engine.live_session import EngineHub, LiveSession, SessionProcess
from dragoman_hub.engine.pending_entries import REDACTED_ANSWER
from dragoman_hub.session import events as ev
from dragoman_hub.session.machine import REDACTED_PROMPT
from dragoman_hub.session.notes import parent_in
from dragoman_hub.session.state import SessionState, is_name
from dragoman_local.journal import StoredEntry, StreamInfo
from dragoman_local.journal.erasure import FORGETTING
from dragoman_local.journal.journal_copy import all_streams
from dragoman_local.journal.redaction import is_redacted

log = logging.getLogger(__name__)

LOOK_SECONDS = 3600.0
"""The seconds between two searches for originals that are too old."""

LEAP_SECONDS = 3600.0
"""How far the clock may run ahead between two searches. A computer that sleeps looks as if it were set."""

OPENED_AT_ONCE = 8
"""The sessions to read at the same time: a remote journal takes long for each request."""


REDACTED_MESSAGE = "the hub was stopped meanwhile, and only its redacted form is stored"

AGAIN_SECONDS = 1.0
TRIES = 30
"""The number of retries for unreadable sessions, and the seconds between them."""


async def recover(hub: EngineHub) -> None:
    """Reconnect to surviving agents, then restore sessions with unfinished work; only then read messages. An
    agent's messages are read after its sessions are open, so that its answers can be matched.
    """
    processes = await hub.pool.adopt_all()
    ours = hub.ownership.left_behind()
    unread_streams = await _open_all(hub, await _unfinished_streams(hub) if ours is None else ours)
    if unread_streams:
        hub.owner.start(_open_rest(hub, unread_streams, processes))
    else:
        _listen(processes)


def _listen(processes: Sequence[SessionProcess]) -> None:
    for process in processes:
        process.start()


async def _open_all(hub: EngineHub, streams: Sequence[str]) -> list[str]:
    """Returns those that could not be read now."""
    at_once = asyncio.Semaphore(OPENED_AT_ONCE)

    async def open_(stream: str) -> bool:
        async with at_once:
            return await _open(hub, stream)

    results = await asyncio.gather(*map(open_, streams))
    return [stream for stream, is_open in zip(streams, results, strict=True) if not is_open]


async def _open_rest(hub: EngineHub, streams: Sequence[str], processes: Sequence[SessionProcess]) -> None:
    """Try unreadable sessions again, for as long as the agents can wait."""
    try:
        for _ in range(TRIES):
            await asyncio.sleep(AGAIN_SECONDS)
            streams = await _open_all(hub, streams)
            if not streams:
                return
        log.error(
            "%d sessions could not be read since the start: they are opened when asked for", len(streams)
        )
    finally:
        _listen(processes)


async def _unfinished_streams(hub: EngineHub) -> list[str]:
    return [
        info.stream
        for state in ("running", "waiting", FORGETTING)
        async for info in all_streams(hub.journal, state=state)
        if is_name(info.stream)
    ]


async def _open(hub: EngineHub, stream: str) -> bool:
    """Open a session with its children: the journal may list one as idle whose agent still waits for an
    answer. False if it is worth another try.
    """
    try:
        session = await hub.session(stream, may_load=True)
        if session.process is not None:
            return all([await _open(hub, child.id) for child in session.state.children.values() if child.id])
    except (ErrorAnswer, Elsewhere, JournalDamaged) as error:
        log.warning("session %s could not be opened again: %s", stream, error)
    except JournalError as error:
        log.warning("session %s could not be opened yet, trying again: %s", stream, error)
        return False
    return True


class UnfinishedWork(NamedTuple):
    """Everything needed to continue a session where the previous hub stopped."""

    frames: Sequence[tuple[int, bytes]]
    """Stored frames for the agent's process that may not have reached it, with the entries' numbers."""
    has_lost_prompt: bool
    """Whether only the redacted form of the running prompt is left."""
    lost_steers: Sequence[str]
    """Keys of messages into turns of which only the redacted form is left."""
    is_orphaned: bool
    """Whether it is a child whose parent's turn has ended: its requests need no answer any more."""


async def read_unfinished(
    hub: EngineHub, state: SessionState, process: SessionProcess | None
) -> UnfinishedWork:
    """Read everything that recovery needs. Nothing is changed, so that a failed caller can try again."""
    is_orphaned = bool(state.parent and state.requests) and await hub.children.is_orphaned(state)
    frames: list[tuple[int, bytes]] = []
    has_lost_prompt = False
    steers = {steer.sequence: steer.key for steer in state.steers.values()}
    lost_steers: list[str] = []
    if process is not None:
        originals = await hub.journal.originals(state.id)
        async for page in hub.journal.replay(state.id, after=max(process.last_taken(state), state.bound_at)):
            for entry in page:
                if entry.direction != "to_agent":
                    continue
                frame = originals.get(entry.sequence) or _without_original(state.id, entry)
                if frame:
                    frames.append((entry.sequence, frame))
                elif state.turn is not None and state.turn.sequence == entry.sequence:
                    has_lost_prompt = True
                elif entry.sequence in steers:
                    lost_steers.append(steers[entry.sequence])
    return UnfinishedWork(frames, has_lost_prompt, lost_steers, is_orphaned)


def take_up(hub: EngineHub, session: LiveSession, work: UnfinishedWork) -> None:
    """Continue a session where the previous hub stopped."""
    if session.process is not None:
        _say_again(session, session.process, work)
        hub.broker.on_recovery(session)
    else:
        why = "the turn was cut short: the hub was stopped, and the agent with it"
        session.dispatch(ev.AgentGone(error=error_object(INTERNAL_ERROR, why)))
    if work.is_orphaned:
        session.dispatch(ev.ParentTurnEnded())
    session.on_change()
    session.dispatch(ev.Resumed())


def _say_again(session: LiveSession, process: SessionProcess, work: UnfinishedWork) -> None:
    """Send a frame again, unchanged. A prompt of which only the redacted form is left is not said: its turn
    ends.
    """
    turn = session.state.turn
    if turn is not None and turn.id is not None:
        process.expect(turn.id, session)
    for steer in session.state.steers.values():
        process.expect(steer.id, session)
    for sequence, frame in work.frames:
        session.bounds.answers.add(len(frame))
        process.say(session, frame, sequence)
    if work.has_lost_prompt:
        error = error_object(INTERNAL_ERROR, f"Internal error: {REDACTED_PROMPT}")
        session.dispatch(ev.TurnFailed(error=error))
    for key in work.lost_steers:
        session.dispatch(ev.SteerGivenUp(key=key, reason=REDACTED_MESSAGE))


def _without_original(session_id: str, entry: StoredEntry) -> bytes:
    """The frame for the agent in place of one without an original: itself, if nothing was redacted; an error,
    if it is an answer; else nothing.
    """
    if not is_redacted(entry.frame):
        return entry.frame
    log.warning("session %s: entry %d for the agent is redacted and was not sent", session_id, entry.sequence)
    message = decode(entry.frame)
    if not isinstance(message, Response | Failure):
        return b""
    return failure(message.id, error_object(INTERNAL_ERROR, f"Internal error: {REDACTED_ANSWER}"))[:-1]


async def drop_overdue(hub: EngineHub) -> None:
    """Drop originals that are too old, for all sessions, about every hour, and forget sessions that are older
    than the settings allow; nothing in the hour after the clock was set forward.
    """
    last_offset = math.inf
    while True:
        now = time.time()
        offset = now - time.monotonic()
        if offset <= last_offset + LEAP_SECONDS:
            await _drop_overdue(hub, now)
        else:
            log.warning("the clock went forward by %d s: nothing is erased for now", offset - last_offset)
        last_offset = offset
        await asyncio.sleep(LOOK_SECONDS)


async def _drop_overdue(hub: EngineHub, now: float) -> None:
    try:
        count = await hub.journal.drop_originals_before(now - hub.options.originals_kept)
        if count:
            log.info("dropped the originals of %d entries: they were not settled in time", count)
    except JournalError as error:
        log.warning("could not drop old originals yet, trying again: %s", error)
    for session in list(hub.sessions.values()):
        if session.process is not None:
            session.pending.confirm(session.process.last_taken(session.state))
    if hub.options.keep_days:
        await _forget_overdue(hub, now - hub.options.keep_days * 86400.0)


async def _forget_overdue(hub: EngineHub, before: float) -> None:
    """Forget sessions without recent messages; those that somebody uses or that wait stay."""
    try:
        streams = [info.stream async for info in all_streams(hub.journal) if is_overdue(info, before)]
        first = await hub.journal.first_entries(streams)
    except JournalError as error:
        log.warning("could not find old sessions yet, trying again: %s", error)
        return
    count = 0
    for stream in streams:
        if stream not in first or parent_in(first[stream].frame):
            continue  # a child session goes with the one for which it works
        try:
            session = await hub.session(stream)
            if not session.followers and not session.state.is_busy:
                await session.close(deletes=True)
                count += 1
        except (ErrorAnswer, Elsewhere, JournalError) as error:
            log.info("session %s is too old and could not be forgotten yet: %s", stream, error)
    if count:
        log.info("forgot %d sessions that were older than keep_days", count)


def is_overdue(info: StreamInfo, before: float) -> bool:
    return is_name(info.stream) and bool(info.state) and info.updated < before
