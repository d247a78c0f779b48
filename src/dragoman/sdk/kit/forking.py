"""Copies a stored session under another id: the same conversation, from here on two."""

from __future__ import annotations

from dragoman.journal import Entry, Journal
from dragoman.sdk.kit import frames
from dragoman.sdk.kit.recall import Recalled


async def copy(journal: Journal, source: str, target: str, found: Recalled, session_id: str) -> Recalled:
    """Copy a stream page by page; `found` learns what the copy has come to.

    Only the id in the frames of updates changes, so they are not read. What is appended meanwhile is part
    of the copy.
    """
    before, after = frames.update_head(session_id), frames.update_head(found.session_id)
    async for page in journal.replay(source):
        entries = [
            Entry(
                stored.direction,
                after + stored.frame[len(before) :] if stored.frame.startswith(before) else stored.frame,
                stored.time,
            )
            for stored in page
        ]
        await journal.append(target, entries, after=found.last)
        found.take(page)  # an id is all that differs
    return found
