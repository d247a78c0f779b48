"""What a turn changed on disk, for the review on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from dragoman.errors import LocalMistake
from dragoman_app.apps.run.changes import is_our_file
from dragoman_app.apps.turn_memory import TurnMemory
from dragoman_app.tui.ports import ReviewedFile
from dragoman_local.workspace.remote_changes import CallMethod, DiskChanges, DiskSnapshot, look_there
from dragoman_local.workspace.snapshot_entries import SnapshotSettings
from dragoman_local.workspace.snapshots import FileChange, Snapshot, take_snapshot

SETTINGS = SnapshotSettings(seconds=3.0)
"""Somebody waits for the turn to begin: a folder that takes longer is not looked at, and that is told."""


class TurnSnapshot:
    """The folder before the turn, and what was different after it. One at a time; `aclose` forgets it."""

    def __init__(self, folder: str, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._has_complained = False
        self._snapshot: DiskSnapshot | None = None
        self.memory: TurnMemory | None = None
        """Where turns are remembered, if they are."""

    async def take(self) -> None:
        store = None if self.memory is None else self.memory.store
        await self._take(lambda: take_snapshot([self._folder], settings=SETTINGS, store=store))

    async def begin_turn(self, session_id: str, *, agent: str, prompt: str) -> None:
        """The turn that was looked at begins now."""
        if self.memory is not None and isinstance(self._snapshot, Snapshot):
            look = asyncio.get_running_loop().create_future()
            look.set_result(self._snapshot)
            await self.memory.begin(session_id, look, agent=agent, prompt=prompt)

    async def take_there(self, call: CallMethod, session_id: str) -> None:
        """The same for a session whose folders are on another machine."""
        await self._take(lambda: look_there(call, session_id))

    async def _take(self, look: Callable[[], Awaitable[DiskSnapshot]]) -> None:
        await self.aclose()
        try:
            self._snapshot = await look()
        except (LocalMistake, OSError) as error:
            if not self._has_complained:
                self._has_complained = True
                self._tell(f"can't tell what changes on disk: {error}")

    async def compare(self) -> SnapshotReview | None:
        if self._snapshot is None:
            return None
        if self.memory is not None:
            await self.memory.begun()
        try:
            changes = await self._snapshot.compare()
        except (LocalMistake, OSError) as error:
            self._tell(f"can't tell what changed on disk: {error}")
            return None
        return SnapshotReview(changes, [change for change in changes.files if not is_our_file(change.path)])

    async def aclose(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if self.memory is not None:
            await self.memory.end()
        if snapshot is not None:
            await snapshot.aclose()


class SnapshotReview:
    """A `Review`."""

    def __init__(self, changes: DiskChanges, files: Sequence[FileChange]) -> None:
        self._changes = changes
        self.changed = files
        self.notes = list(changes.notes)
        self.files = [
            ReviewedFile(
                path=change.path,
                kind=change.kind,
                diff=change.diff,
                added_lines=change.lines_added,
                removed_lines=change.lines_removed,
                binary=change.binary,
            )
            for change in files
        ]

    async def revert(self, path: str) -> None:
        await self._changes.revert(path)
