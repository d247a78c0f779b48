"""Reminds an agent of a session that it does not know: a summary before the next prompt.

It does not know the session because it has lost its memory of it, or because the session was handed over to
it by another agent. The brief is made from the journal, of the session and of those that it goes on from.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Raw

from dragoman_hub.session.frames import encode_json, object_of, value_of
from dragoman_hub.session.notes import read_note
from dragoman_hub.session.state import SessionState
from dragoman_local.journal import Journal
from dragoman_local.journal.brief import BriefFold, ConversationBrief

MOST_SOURCES = 8
"""The most earlier sessions of a chain of hand-overs: older ones are in none of the briefs."""


class StreamPart(NamedTuple):
    """A stream up to an entry; all of it for 0."""

    stream: str
    end: int = 0


async def source_of(journal: Journal, stream: str) -> StreamPart:
    """Return the session that this one continues, by its first entry; without a name if there is none, or if
    it is deleted.
    """
    if await journal.info(stream) is None:
        return StreamPart("")
    async for page in journal.replay(stream, limit=1):
        note = read_note(page[0].frame)
        if note is not None and note.hub == "made":
            return StreamPart(note.source, note.source_end)
    return StreamPart("")


def with_note(params: bytes, note: str) -> bytes:
    """Return a prompt with a note of the hub in front."""
    members = object_of(params)
    blocks = [{"type": "text", "text": note}, *value_of(members.get("prompt"), [])]
    return encode_json({**members, "prompt": Raw(encode_json(blocks))})


class Reminders:
    """The reminders of all sessions of a hub; a lost one is read from the journal again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._briefs: dict[str, ConversationBrief] = {}  # by session

    async def recall(self, state: SessionState) -> None:
        """Read the conversation for the next prompt."""
        self._briefs[state.id] = await self.brief(state)

    async def brief(self, state: SessionState) -> ConversationBrief:
        """Return the brief for the agent of this session. A session without messages uses
        that of its source.
        """
        fold = BriefFold()
        parts = [StreamPart(state.id)] if state.turns else []
        part = await source_of(self._journal, state.id)
        while part.stream and len(parts) < MOST_SOURCES:
            parts.append(part)
            part = await source_of(self._journal, part.stream)
        if part.stream:
            fold.miss("earlier sessions")
        for part in reversed(parts):
            await self._read(fold, part)
        if state.turns:
            fold.forget_waiting()  # its agent gets them as prompts
        return fold.finish(reason="memory" if state.turns and not state.is_unbriefed else "handover")

    async def _read(self, fold: BriefFold, part: StreamPart) -> None:
        info = await self._journal.info(part.stream)
        if info is None:
            fold.miss("sessions that were deleted")
            return
        fold.begin(info.agent)
        async for page in self._journal.replay(part.stream, limit=part.end or None):
            fold.add_all(page)

    def remind(self, session_id: str, params: bytes) -> bytes:
        """Return the prompt with the summary in front."""
        brief = self._briefs.pop(session_id, None)
        if brief is None or not brief.text:
            return params
        members = object_of(params)
        members["prompt"] = Raw(encode_json([*brief.blocks, *value_of(members.get("prompt"), [])]))
        return encode_json(members)

    def forget(self, session_id: str) -> None:
        self._briefs.pop(session_id, None)
