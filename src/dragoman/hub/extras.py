"""What a session has besides its conversation: its files to choose from, what its last turn changed on disk,
and what its agent is reminded of when it knows nothing of the past.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.hub.frames import encoded, object_of, value_of
from dragoman.journal.conversation import moments
from dragoman.wire.codes import invalid_params

if TYPE_CHECKING:
    from dragoman.hub.hub import Hub
    from dragoman.hub.session import HubSession
    from dragoman.workspace.changes import Changes, Snapshot

log = logging.getLogger(__name__)

LOOKED_AT = 20_000
"""Files that are looked at for a name; a folder with more is searched by its agent."""

SKIPPED = frozenset({"node_modules", "__pycache__", "target", "dist", "build", "venv"})
REMINDER = 24_000
"""Characters of the past that are told to an agent that has forgotten it: the latest."""

SNAPSHOT_SECONDS = 3.0
"""A turn waits so long for a look at its folder, once: one that is too large is not looked at again."""

LARGE = 1000
"""Folders that are known to be too large; more than that, and all are forgotten."""


class Extras:
    """Everything here is made again when it is lost."""

    def __init__(self, hub: Hub, *, changes: bool = True) -> None:
        self._hub = hub
        self._watches_changes = changes
        self._snapshots: dict[str, Snapshot] = {}
        self._too_large: set[str] = set()
        self._reminders: dict[str, str] = {}

    async def aclose(self) -> None:
        for snapshot in self._snapshots.values():
            await snapshot.aclose()
        self._snapshots.clear()

    # Files.

    async def files(self, session: HubSession, pattern: str, limit: int) -> list[str]:
        return await asyncio.to_thread(_fuzzy, session.memory.cwd, pattern.lower(), limit)

    # Changes.

    async def before_turn(self, session: HubSession) -> None:
        """Look at the folders before the agent touches them."""
        if not self._watches_changes:
            return
        from dragoman.workspace.changes import take_snapshot

        before = self._snapshots.pop(session.id, None)
        if before is not None:
            await before.aclose()
        folder = session.memory.cwd
        if folder in self._too_large:
            return
        try:
            async with asyncio.timeout(SNAPSHOT_SECONDS):
                self._snapshots[session.id] = await take_snapshot([folder])
        except TimeoutError:
            log.info("what turns change will not be known in %s: it is too large", folder)
            if len(self._too_large) >= LARGE:
                self._too_large.clear()
            self._too_large.add(folder)
        except (DragomanError, OSError) as error:
            log.info("what the turn changes will not be known: %s", error)

    async def changes(self, session: HubSession) -> list[dict[str, Any]]:
        changes = await self._compared(session)
        return [
            {"path": one.path, "kind": one.kind, "diff": one.diff or "", "hunks": _hunks(one.diff or "")}
            for one in (changes.files if changes is not None else ())
        ]

    async def revert(self, session: HubSession, path: str, hunks: list[Any] | None) -> None:
        changes = await self._compared(session)
        if changes is None or path not in {one.path for one in changes.files}:
            raise invalid_params("nothing is known to have changed there")
        try:
            if hunks is None:
                await changes.revert(path)
            else:
                await changes.revert_hunks(path, [one for one in hunks if isinstance(one, int)])
        except DragomanError as error:
            raise ErrorAnswer(-32603, f"Internal error: {error}") from None

    async def _compared(self, session: HubSession) -> Changes | None:
        snapshot = self._snapshots.get(session.id)
        return None if snapshot is None else await snapshot.compare()

    # Reminders.

    async def recall(self, session: HubSession) -> None:
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

    def reminded(self, session: HubSession, params: bytes) -> bytes:
        """The prompt, with the past in front of it."""
        past = self._reminders.pop(session.id, "")
        members = object_of(params)
        if not past:
            return params
        words = f"This conversation goes on from an earlier one. What was said so far:\n\n{past}\n\n---\n"
        blocks = value_of(members.get("prompt"), [])
        members["prompt"] = Raw(encoded([{"type": "text", "text": words}, *blocks]))
        return encoded(members)


def _hunks(diff: str) -> list[dict[str, Any]]:
    """The hunks of a unified diff, numbered."""
    found: list[list[str]] = []
    for line in diff.splitlines():
        if line.startswith("@@"):
            found.append([line])
        elif found:
            found[-1].append(line)
    return [{"id": number, "text": "\n".join(lines)} for number, lines in enumerate(found)]


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
