"""Restores a stored session: its state, and its conversation as updates.

One pass over the journal's pages does both. Updates go through unread; only prompts, answers and notes are
looked at, which are few. A turn that has a prompt and no answer was cut short by the death of its process:
it is ended here, with words that a reader sees, and is never run again. `copy` makes two of one session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from dragoman.decoders import decode_json
from dragoman.schema import v1
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_local.journal import Entry, Journal, Page, StoredEntry
from dragoman_local.kit import frames
from dragoman_local.kit.settings import Value
from dragoman_local.kit.usage import SessionUsage, TokenUsage

CUT_SHORT = "This turn was cut short before it was finished."

BEGUN = b'"status":"in_progress"'
"""The field of the update that begins a compaction. A replay sends each one once, at its end."""

Send = Callable[[bytes], Awaitable[None]]
"""Sends whole frames, each with its newline, and waits while the client is slow."""


class RestoredSession:
    """The state of a session, read from its journal."""

    def __init__(self, session_id: str, *, skipped_kinds: Sequence[str] = ()) -> None:
        """`skipped_kinds` are kinds of updates that this client does not accept."""
        self.session_id = session_id
        self.last = 0
        self.turns = 0
        self.open_since: int | None = None
        """The entry of a prompt that has no answer."""
        self.settings: dict[str, Value] = {}
        self.usage = SessionUsage(spent=TokenUsage())
        self.memories: list[Any] = []
        self._head = frames.update_head(session_id)
        self._compaction = frames.beginnings(session_id, ("compaction_update",))
        self._skipped_prefixes = frames.beginnings(session_id, (*frames.UNREPLAYED, *skipped_kinds))

    def take(self, page: Page) -> bytes:
        """Read a page; return its frames for a client."""
        frames_to_send: list[bytes] = []
        update, skipped_prefixes, compaction = frames.UPDATE, self._skipped_prefixes, self._compaction
        for entry in page:
            frame = entry.frame
            if entry.direction != "to_client":
                frames_to_send += self._learn(entry)
            elif not frame.startswith(update):
                self.open_since = None
            elif not frame.startswith(skipped_prefixes) and not (
                frame.startswith(compaction) and BEGUN in frame
            ):
                frames_to_send.append(frame)
        self.last = page[-1].sequence
        frames_to_send.append(b"")
        return b"\n".join(frames_to_send)

    def _learn(self, entry: StoredEntry) -> list[bytes]:
        if entry.direction == "note":
            self._remember(entry.frame)
            return []
        numbered_prompt = frames.read_prompt(entry.frame)
        if numbered_prompt is None:
            return []
        self.turns, prompt = numbered_prompt
        self.open_since = entry.sequence
        return frames.prompt_updates(self._head, self.turns, prompt)

    def _remember(self, frame: bytes) -> None:
        note = frames.read_note(frame)
        if note is None:
            return
        match note.kit:
            case "settings":
                self.settings = decode_json(note.value, dict[str, Value])
            case "usage":
                self.usage = decode_json(note.value, SessionUsage)
            case "memory":
                self.memories.append(msgspec.json.decode(note.value))
            case "forgotten":
                self.memories.clear()


async def recall(journal: Journal, stream: str, restored_session: RestoredSession, send: Send | None) -> None:
    """Read the rest of the stream and send its frames for a client."""
    async for page in journal.replay(stream, after=restored_session.last):
        replay = restored_session.take(page)
        if send is not None and replay:
            await send(replay)


async def ending(journal: Journal, stream: str, restored_session: RestoredSession) -> list[bytes]:
    """Return the frames that end an interrupted turn: its open tool calls have failed, and a text says so."""
    assert restored_session.open_since is not None
    failed_calls = [
        frames.update_frame(
            restored_session.session_id, v1.ToolCallProgress(tool_call_id=call, status="failed")
        )
        async for call in _open_calls(journal, stream, restored_session)
    ]
    words = v1.AgentMessageChunk(
        content=v1.TextContent(text=CUT_SHORT), message_id=f"cut-short-{restored_session.turns}"
    )
    return [
        *failed_calls,
        frames.update_frame(restored_session.session_id, words),
        frames.error_frame(restored_session.turns, INTERNAL_ERROR, CUT_SHORT),
    ]


async def _open_calls(journal: Journal, stream: str, restored_session: RestoredSession) -> AsyncIterator[str]:
    begin = frames.update_head(restored_session.session_id) + b'{"sessionUpdate":"tool_call'
    calls: dict[str, None] = {}
    async for page in journal.replay(stream, after=restored_session.open_since or 0):
        for entry in page:
            if entry.frame.startswith(begin):
                update = msgspec.json.decode(entry.frame)["params"]["update"]
                calls[update["toolCallId"]] = None
                if update.get("status") in ("completed", "failed"):
                    del calls[update["toolCallId"]]
    for call in calls:
        yield call


async def copy(
    journal: Journal, source: str, target: str, restored_session: RestoredSession, session_id: str
) -> RestoredSession:
    """Copy a stream page by page; `restored_session` gets the state of the copy.

    Only the id in the frames of updates changes, so they are not read. What is appended meanwhile is part
    of the copy.
    """
    before, after = frames.update_head(session_id), frames.update_head(restored_session.session_id)
    async for page in journal.replay(source):
        entries = [
            Entry(
                entry.direction,
                after + entry.frame[len(before) :] if entry.frame.startswith(before) else entry.frame,
                entry.time,
            )
            for entry in page
        ]
        await journal.append(target, entries, after=restored_session.last)
        restored_session.take(page)  # an id is all that differs
    return restored_session
