"""Finds the changes of a turn on disk, for the review on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import ValidationError, to_builtins

from dragoman.decoders import convert
from dragoman.errors import LocalMistake
from dragoman_app.apps.folder_memory import open_recorded
from dragoman_app.apps.run.changes import is_our_file
from dragoman_app.apps.turn_memory import TurnMemory
from dragoman_app.tui.ports import ReviewedFile, RewindPreview, RewindResult
from dragoman_local.workspace.remote_changes import CallMethod, DiskChanges, DiskSnapshot, look_there
from dragoman_local.workspace.rewind import (
    NOTHING_TO_UNDO,
    UNKNOWN,
    Places,
    RewindDone,
    planned_rewind,
    session_places,
    undo_places,
)
from dragoman_local.workspace.snapshot_entries import SnapshotSettings
from dragoman_local.workspace.snapshots import FileChange, Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore

SETTINGS = SnapshotSettings(seconds=3.0)
"""Limits for a look before a turn, for which a user waits: a folder that takes longer is skipped, with a
note.
"""


class TurnSnapshot:
    """The folder before the turn, and the differences after it. One at a time; `aclose` removes it."""

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
        """Note that the turn begins now."""
        if self.memory is not None and isinstance(self._snapshot, Snapshot):
            look = asyncio.get_running_loop().create_future()
            look.set_result(self._snapshot)
            await self.memory.begin(session_id, look, agent=agent, prompt=prompt)

    async def take_there(self, call: CallMethod, session_id: str) -> None:
        """Do the same for a session whose folders are on another machine."""
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
    """Implements `Review`."""

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


# The way back to before a turn, for the dialog on the screen: in a folder of this machine, or at a hub.

Answer = TypeVar("Answer")


class LocalRewinds:
    """Implements `ChatRewinds` for a session whose turns are stored here. `tell` is called
    with each result.
    """

    def __init__(self, memory: TurnMemory | None, session: str, tell: Callable[[RewindDone], None]) -> None:
        if memory is None or memory.store is None:
            raise LocalMistake("Dragoman keeps no files of this session, so it can't put any back")
        self._store: TreeStore = memory.store
        self._folders, self._stream = memory.roots, memory.stream
        self._session = session
        self._tell = tell

    async def preview(self, turn: int | None) -> RewindPreview:
        number, places = await self._places(turn)
        async with planned_rewind(self._store, places, open_recorded, has_diffs=True) as rewind:
            return convert(await rewind.preview(number), RewindPreview)

    async def carry_out(self, preview: RewindPreview, also: Sequence[str]) -> RewindResult:
        number, places = await self._places(preview.turn)
        return await self._carry_out(places, number, preview.identity, also)

    async def undo(self) -> RewindResult:
        places = await asyncio.to_thread(undo_places, self._store, self._folders)
        if not places:
            raise LocalMistake(NOTHING_TO_UNDO)
        return await self._carry_out(places, 0, None, ())

    async def _places(self, turn: int | None) -> tuple[int, Places]:
        number, places = await asyncio.to_thread(session_places, self._store, self._session, number=turn)
        if not places:
            raise LocalMistake(UNKNOWN)
        return number, places

    async def _carry_out(
        self, places: Places, turn: int, identity: str | None, also: Sequence[str]
    ) -> RewindResult:
        async with planned_rewind(self._store, places, open_recorded) as rewind:
            done = await rewind.carry_out(
                self._session, turn=turn, stream=self._stream, identity=identity, also=also
            )
        if done.paths:
            self._tell(done)
        return convert(to_builtins(done), RewindResult)


class HubRewinds:
    """Implements `ChatRewinds` for a session at a hub; `call` calls the hub's methods."""

    def __init__(self, call: Callable[[str, dict[str, object]], Awaitable[object]], session: str) -> None:
        self._call = call
        self._session: dict[str, object] = {"sessionId": session}

    async def preview(self, turn: int | None) -> RewindPreview:
        params = self._session if turn is None else self._session | {"turn": turn}
        return _read(await self._call("rewind/preview", params), RewindPreview)

    async def carry_out(self, preview: RewindPreview, also: Sequence[str]) -> RewindResult:
        params = {"turn": preview.turn, "identity": preview.identity, "also": list(also), **self._session}
        return _read(await self._call("rewind", params), RewindResult)

    async def undo(self) -> RewindResult:
        return _read(await self._call("rewind/undo", self._session), RewindResult)


def _read(answer: Any, kind: type[Answer]) -> Answer:
    try:
        return convert(answer, kind)
    except ValidationError as error:
        raise LocalMistake(f"the hub's answer is invalid: {error}") from error
