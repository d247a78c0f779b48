"""What an agent is told of a session that it has forgotten: the past, in front of the next prompt."""

from __future__ import annotations

from msgspec import Raw

from dragoman.hub.session.frames import encode_json, object_of, value_of
from dragoman.journal import Journal
from dragoman.journal.conversation import moments

REMINDER = 24_000
"""Characters of the past that are told to an agent that has forgotten it: the latest."""


class Reminders:
    """Of all sessions of a hub; read from the journal again when one is lost."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._texts: dict[str, str] = {}  # by session

    async def recall(self, session_id: str) -> None:
        """Read what was said, for the next prompt."""
        parts: list[str] = []
        size = 0
        async for page in self._journal.replay(session_id):
            for moment in moments(page):
                if moment.kind in ("prompt", "message"):
                    speaker = "User" if moment.kind == "prompt" else "Assistant"
                    parts.append(f"{speaker}: {moment.text}")
                    size += len(parts[-1])
                    while size > REMINDER and len(parts) > 1:
                        size -= len(parts.pop(0))
        self._texts[session_id] = "\n\n".join(parts)[-REMINDER:]

    def remind(self, session_id: str, params: bytes) -> bytes:
        """The prompt, with the past in front of it."""
        past = self._texts.pop(session_id, "")
        if not past:
            return params
        members = object_of(params)
        text = f"This conversation goes on from an earlier one. What was said so far:\n\n{past}\n\n---\n"
        blocks = value_of(members.get("prompt"), [])
        members["prompt"] = Raw(encode_json([{"type": "text", "text": text}, *blocks]))
        return encode_json(members)

    def forget(self, session_id: str) -> None:
        self._texts.pop(session_id, None)
