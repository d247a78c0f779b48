"""Snapshots of folders before a turn, which later show all changes, by any program.

    snapshot = await take_snapshot(["/project"])
    ...  # the turn
    changes = await snapshot.compare()
    await changes.revert("/project/file.py")
    await snapshot.aclose()

`later = await snapshot.retake()` looks again and shares what is kept; `snapshot.compare(later)` tells what
changed between the two, whatever happened since.

A look (`folder_snapshot`) is bounded in time and size, and what it did not cover is in the notes. Nothing in
the folders is written, not even in `.git`; what is kept lies in a store (`tree_store`) that lasts, or that is
gone with the snapshot. `snapshot.record` makes it a look of the store's line, at which a turn begins or ends.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman_local.workspace.change_set import (
    FileChange,
    PathDifference,
    RevertRefused,
    TurnChangeSet,
    describe_change,
)
from dragoman_local.workspace.folder_snapshot import PlainFolder
from dragoman_local.workspace.snapshot_entries import (
    DEFAULT_SNAPSHOT,
    Capture,
    SnapshotEntry,
    SnapshotSettings,
    TurnStart,
    has_other_mode,
)
from dragoman_local.workspace.tree_store import StaleLook, TreeStore

__all__ = ["FileChange", "RevertRefused", "Snapshot", "TurnChangeSet", "take_snapshot"]


LOOKS_AGAIN = 5
"""The retries of a snapshot because another process has stored a later one."""


async def take_snapshot(
    roots: Sequence[str],
    *,
    settings: SnapshotSettings = DEFAULT_SNAPSHOT,
    store: TreeStore | None = None,
    start: TurnStart | None = None,
    take: Taker | None = None,
) -> Snapshot:
    """Take a snapshot of these folders. `store` is for contents that must outlive the snapshot. `start` is
    the beginning of a turn that does not wait for its end. `take` calls `Snapshot.take` in a thread.
    """
    return await _taken(Snapshot(_Archive(roots, settings, store)), start, take or _take_in_thread)


async def _take_in_thread(snapshot: Snapshot, start: TurnStart | None) -> None:
    await asyncio.to_thread(snapshot.take, start)


async def _taken(snapshot: Snapshot, start: TurnStart | None, take: Taker) -> Snapshot:
    try:
        await take(snapshot, start)
    except BaseException:
        await snapshot.aclose()
        raise
    return snapshot


class _Archive:
    """The contents of some folders, for all snapshots that were taken of them one after the other."""

    def __init__(self, roots: Sequence[str], settings: SnapshotSettings, store: TreeStore | None) -> None:
        self.roots: tuple[str, ...] = ()
        """Without links, once it is open."""
        self.settings = settings
        self._given_roots = roots
        self.stop = threading.Event()
        self.working = threading.Lock()  # a thread goes on although nobody waits for it any more
        self.grounds: list[PlainFolder] = []
        self.users = 0
        self.store = store or TreeStore()
        self._owns_store = store is None
        self.first_bytes: int | None = None  # what the first snapshot kept

    def open(self) -> None:
        """In a thread: a disk may take a while."""
        if self.stop.is_set():  # before its thread began
            raise LocalMistake("this snapshot is closed")
        if not self.roots:
            self.roots = tuple(dict.fromkeys(map(os.path.realpath, self._given_roots)))
        for number, root in enumerate(self.roots):
            if not os.path.isdir(root):
                raise LocalMistake(f"{root!r} is not a folder")
            if number == len(self.grounds):
                self.grounds.append(PlainFolder(root, self.store, self.settings, self.stop))

    def close(self) -> None:
        with self.working:
            for ground in self.grounds:
                ground.close()
            if self._owns_store:
                self.store.close()


class Snapshot:
    """The files before a turn. Made by `take_snapshot`, or from an earlier one; also an `async with`."""

    def __init__(self, archive: _Archive) -> None:
        self.notes: list[str] = []
        """What it does not cover."""
        self._archive = archive
        self._captures: list[Capture] = []
        self._start: TurnStart | None = None
        self._has_twin = False
        self._is_closed = False
        self._turn: int | None = None
        """The turn of the store that ends with the next comparison."""
        archive.users += 1

    @property
    def roots(self) -> tuple[str, ...]:
        """Its folders, without links."""
        return self._archive.roots

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def growth(self) -> int:
        """The bytes that later snapshots have added to those of the first, which stay
        until all are closed.
        """
        kept_bytes = sum(ground.kept_bytes for ground in self._archive.grounds)
        return kept_bytes - (self._archive.first_bytes or 0)

    @property
    def origin(self) -> object:
        """The same for all snapshots retaken from one another; only these can be compared."""
        return self._archive

    def keeps(self, path: str) -> bool:
        """Whether it has the file's earlier content, or the time of its last change."""
        for root, capture in zip(self.roots, self._captures, strict=True):
            if path.startswith(f"{root}/") and path[len(root) + 1 :] in capture.entries:
                return True
        return False

    @property
    def file_count(self) -> int:
        return sum(len(capture.entries) for capture in self._captures)

    def take(self, start: TurnStart | None = None) -> None:
        self._start = start
        with self._archive.working:
            self._archive.open()
            for ground in self._archive.grounds:
                capture = ground.capture(keep=True, start=start)
                self.notes += capture.notes
                self._captures.append(capture)
            if self._archive.first_bytes is None:
                self._archive.first_bytes = sum(ground.kept_bytes for ground in self._archive.grounds)

    async def retake(self, *, start: TurnStart | None = None, take: Taker | None = None) -> Snapshot:
        """Take another snapshot. Unchanged files are not read or stored again; each of the two is closed
        separately. With `start`, a turn may begin in the meantime.
        """
        if self._is_closed:
            raise LocalMistake("this snapshot is closed")
        return await _taken(Snapshot(self._archive), start, take or _take_in_thread)

    @property
    def entries(self) -> Mapping[str, SnapshotEntry]:
        """Return the entries of the first folder."""
        return self._captures[0].entries

    @property
    def private_paths(self) -> Collection[str]:
        """Return files in the first folder that a store does not keep, because git ignores them."""
        return self._captures[0].private

    def changes_since(self, entries: Mapping[str, SnapshotEntry], *, has_diffs: bool = True) -> TurnChangeSet:
        """Return the differences of the first folder from an earlier state; its contents are stored. Diffs
        take most of the time.
        """
        earlier = Snapshot(self._archive)
        earlier._captures = [Capture(entries=dict(entries)), *self._captures[1:]]
        changes = earlier._list_changes(self, is_past=False, has_diffs=has_diffs)
        self._archive.users -= 1
        return changes

    async def record(self, turn: int | None, at: Literal["begin", "end", "now"]) -> None:
        """Let a turn of the store begin or end with this snapshot, or only add the snapshot."""
        await asyncio.to_thread(self.record_here, turn, at)

    def record_here(self, turn: int | None, at: str) -> None:
        """Do the same in the caller's thread."""
        with self._archive.working:
            for ground, capture in zip(self._archive.grounds, self._captures, strict=True):
                self._record_root(ground, capture, turn, at)

    def _record_root(self, ground: PlainFolder, capture: Capture, turn: int | None, at: str) -> None:
        store = self._archive.store
        for _ in range(LOOKS_AGAIN):
            try:
                store.record_look(ground.root, capture, turn=turn, at=at)
                break
            except StaleLook:
                capture = ground.capture(keep=True, start=self._start)  # the agent may be at work
        if at == "end" and turn is not None:
            store.end_turn(turn)
            store.keep_within_budget()

    def write_turn(self, turn: int, at: str) -> None:
        """`record` for callers in a transaction of the store, who handle `StaleLook`."""
        store = self._archive.store
        for ground, capture in zip(self._archive.grounds, self._captures, strict=True):
            store.record_look(ground.root, capture, turn=turn, at=at)
        if at == "end":
            store.end_turn(turn)

    async def begin_turn(self, turn: int) -> None:
        """Let a turn of the store begin with this snapshot. It ends with the next comparison."""
        await self.record(turn, "begin")
        self._turn = turn

    def share(self) -> Snapshot:
        """Return another handle of the same snapshot, which is closed separately."""
        twin = Snapshot(self._archive)
        twin.notes, twin._captures = list(self.notes), list(self._captures)
        twin._start = self._start
        twin._has_twin = self._has_twin = True
        return twin

    async def compare(self, later: Snapshot | None = None) -> TurnChangeSet:
        """Return the changes since then, until now or until a repeated snapshot. May be called again."""
        return await asyncio.to_thread(self._compare, later)

    def adopt(self, path: str, later: Snapshot) -> None:
        """Use a file's state in `later` as the new base; both share the contents."""
        if self._has_twin:  # to whom it counts as before
            self._captures = [replace(capture, entries={**capture.entries}) for capture in self._captures]
            self._has_twin = False
        for ground, capture, newer in zip(
            self._archive.grounds, self._captures, later._captures, strict=True
        ):
            if path.startswith(f"{ground.root}/"):
                name = path[len(ground.root) + 1 :]
                capture.entries.pop(name, None)
                if name in newer.entries:
                    capture.entries[name] = newer.entries[name]

    async def aclose(self) -> None:
        """Remove everything. A second call has no effect."""
        if self._is_closed:
            return
        self._is_closed = True
        self._archive.users -= 1
        if not self._archive.users:
            self._archive.stop.set()
            if not self._archive.working.locked():
                self._archive.close()  # nothing is removed that would take time
            else:
                await asyncio.to_thread(self._archive.close)

    async def __aenter__(self) -> Snapshot:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _compare(self, later: Snapshot | None) -> TurnChangeSet:
        with self._archive.working:
            if self._is_closed or (later is not None and later._is_closed):
                raise LocalMistake("this snapshot is closed")
            return self._list_changes(later)

    def _list_changes(
        self, later: Snapshot | None, *, is_past: bool | None = None, has_diffs: bool = True
    ) -> TurnChangeSet:
        notes = list(self.notes)
        differences: dict[str, PathDifference] = {}
        files: list[FileChange] = []
        room = self._archive.settings.diff_bytes if has_diffs else 0
        for number, (ground, before) in enumerate(zip(self._archive.grounds, self._captures, strict=True)):
            after = self._look_after(ground) if later is None else later._captures[number]
            notes += [note for note in after.notes if note not in notes]
            for path, old, new in _differences(before, after):
                difference = PathDifference(
                    ground, path, old, new, is_past=later is not None if is_past is None else is_past
                )
                if difference.full_path in differences:  # a root within a root
                    continue
                differences[difference.full_path] = difference
                files.append(describe_change(difference, room=room))
                room -= len(files[-1].diff or "")
        if later is None:
            self._turn = None
        if room <= 0:
            notes.append("too many changes to show: some are named without a diff")
        return TurnChangeSet(sorted(files, key=lambda change: change.path), notes, differences)

    def _look_after(self, ground: PlainFolder) -> Capture:
        if self._turn is None:
            return ground.capture(keep=False)
        capture = ground.capture(keep=True)
        self._record_root(ground, capture, self._turn, "end")
        return capture


Taker: TypeAlias = Callable[[Snapshot, TurnStart | None], Awaitable[None]]
"""Has a snapshot taken, and returns when it is."""


def _differences(
    before: Capture, after: Capture
) -> list[tuple[str, SnapshotEntry | None, SnapshotEntry | None]]:
    """Entries of one look that the other does not have. A look that was cut short proves nothing by not
    finding.
    """
    different: list[tuple[str, SnapshotEntry | None, SnapshotEntry | None]] = []
    for path, old in before.entries.items():
        new = after.entries.get(path)
        if new is None and not after.is_complete:
            continue
        if new is None or (old.kind, old.digest) != (new.kind, new.digest) or has_other_mode(old, new):
            different.append((path, old, new))
    different += [
        (path, None, new)
        for path, new in after.entries.items()
        if path not in before.entries and not before.has_missed(path)
    ]
    return different
