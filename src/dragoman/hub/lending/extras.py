"""What a session has besides its conversation: its files to choose from, and what its agent is reminded of
when it knows nothing of the past.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from msgspec import Raw

from dragoman.hub.session.frames import encoded, object_of, value_of
from dragoman.journal.conversation import moments

if TYPE_CHECKING:
    from dragoman.hub.engine.live_session import LiveSession
    from dragoman.hub.hub import Hub

LOOKED_AT = 20_000
"""Files that are looked at for a name; a folder with more is searched by its agent."""

SKIPPED = frozenset({"node_modules", "__pycache__", "target", "dist", "build", "venv"})
REMINDER = 24_000
"""Characters of the past that are told to an agent that has forgotten it: the latest."""


class SessionExtras:
    """Everything here is made again when it is lost."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._reminders: dict[str, str] = {}

    def forget(self, session: LiveSession) -> None:
        self._reminders.pop(session.id, None)

    # Files.

    async def files(self, session: LiveSession, pattern: str, limit: int) -> list[str]:
        return await asyncio.to_thread(_fuzzy, session.state.cwd, pattern.lower(), limit)

    # Reminders.

    async def recall(self, session: LiveSession) -> None:
        """Read what was said, for an agent that has forgotten it."""
        told: list[str] = []
        size = 0
        async for page in self._hub.journal.replay(session.stream):
            for moment in moments(page):
                if moment.kind in ("prompt", "message"):
                    speaker = "User" if moment.kind == "prompt" else "Assistant"
                    told.append(f"{speaker}: {moment.text}")
                    size += len(told[-1])
                    while size > REMINDER and len(told) > 1:
                        size -= len(told.pop(0))
        self._reminders[session.id] = "\n\n".join(told)[-REMINDER:]

    def reminded(self, session: LiveSession, params: bytes) -> bytes:
        """The prompt, with the past in front of it."""
        past = self._reminders.pop(session.id, "")
        members = object_of(params)
        if not past:
            return params
        words = f"This conversation goes on from an earlier one. What was said so far:\n\n{past}\n\n---\n"
        blocks = value_of(members.get("prompt"), [])
        members["prompt"] = Raw(encoded([{"type": "text", "text": words}, *blocks]))
        return encoded(members)


def _fuzzy(folder: str, pattern: str, limit: int) -> list[str]:
    """Files whose path has the letters of the pattern in their order, the closest first."""
    found: list[tuple[int, int, str]] = []
    seen = 0
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in SKIPPED)
        for name in sorted(files):
            seen += 1
            path = os.path.relpath(os.path.join(at, name), folder)
            spread = _spread(path.lower(), pattern)
            if spread is not None:
                found.append((spread, len(path), path))
        if seen > LOOKED_AT:
            break
    return [path for _, _, path in sorted(found)[:limit]]


def _spread(path: str, pattern: str) -> int | None:
    """How far apart the letters stand; less is better, and whatever is in the file's own name best."""
    if not pattern:
        return 0
    name = path.rpartition("/")[2]
    if pattern in name:
        return name.index(pattern)
    begin, place = -1, -1
    for letter in pattern:
        place = path.find(letter, place + 1)
        if place < 0:
            return None
        begin = place if begin < 0 else begin
    return 100 + place - begin
