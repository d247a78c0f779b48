"""Takes a folder back to how it was at an earlier look, and says first whose work that would undo.

What is there now is a look of its own before anything is changed, so that each way back has a way forth.
Files that hold secrets, and those that git ignores, are not kept and stay as they are; so do files that were
too large. Nothing of git is touched: neither its index nor a ref, nor anything in its folder.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

from dragoman_local.workspace.change_set import RevertRefused, TurnChangeSet, in_revert_order
from dragoman_local.workspace.folder_snapshot import is_secret_name
from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.snapshot_entries import SnapshotEntry
from dragoman_local.workspace.snapshots import FileChange, Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore


class RewindStep(Struct, frozen=True, kw_only=True):
    """One file that is put back."""

    path: str
    act: Literal["restore", "remove", "change"]
    is_persons: bool = False
    """Whether somebody changed it since whom no turn can answer for."""


class RewindFailure(Struct, frozen=True, kw_only=True):
    """One file that was not put back."""

    path: str
    why: str


_ACTS: dict[str, Literal["restore", "remove", "change"]] = {
    "added": "remove",
    "removed": "restore",
    "modified": "change",
}


class RewindPlan:
    """What would change in one folder. Made by `plan_rewind`; `aclose` forgets it."""

    def __init__(
        self,
        store: TreeStore,
        now: Snapshot,
        changes: TurnChangeSet,
        *,
        persons: Collection[str],
        left: Sequence[str],
    ) -> None:
        self._store = store
        self._now = now
        self._changes = changes
        self._files = in_revert_order(changes.files)
        self.root = now.roots[0]
        self.steps = [self._step(change, persons) for change in self._files]
        self.left = left
        """Files that are not as they were, and stay so."""

    def _step(self, change: FileChange, persons: Collection[str]) -> RewindStep:
        path = change.path.removeprefix(f"{self.root}/")
        return RewindStep(path=path, act=_ACTS[change.kind], is_persons=path in persons)

    async def carry_out(self, session: str, *, is_undo: bool) -> list[RewindFailure]:
        """Put all files back, between two looks of the store; what could not be."""
        turn = self._store.begin_turn(session, [self.root], kind="undo" if is_undo else "rewind")
        await self._now.record(turn, "begin")
        failures: list[RewindFailure] = []
        for change in self._files:
            try:
                await self._changes.revert(change.path)
            except RevertRefused as error:
                failures.append(RewindFailure(path=change.path.removeprefix(f"{self.root}/"), why=str(error)))
        async with await self._now.retake() as after:
            await after.record(turn, "end")
        return failures

    async def aclose(self) -> None:
        await self._now.aclose()


async def plan_rewind(store: TreeStore, root: str, look: int) -> RewindPlan:
    """What it takes to have a folder as it was at a look of its line."""
    now = await take_snapshot([root], store=store)
    await now.record(None, "now")
    there, wanted = now.entries, store.tree(root, look)
    different = [path for path in sorted(wanted.keys() | there.keys()) if wanted.get(path) != there.get(path)]
    missing = store.missing(entry.digest for entry in (*wanted.values(), *there.values()) if entry.is_kept)

    def is_kept(entry: SnapshotEntry | None) -> bool:
        return entry is None or (entry.is_kept and entry.digest not in missing)

    left = [
        path
        for path in different
        if is_secret_name(path)
        or path in now.private_paths
        or not (is_kept(wanted.get(path)) and is_kept(there.get(path)))
    ]
    for path in left:
        wanted.pop(path, None)
        if path in there:
            wanted[path] = there[path]
    persons = LineHistory(store, root).changed_by_others(look)
    return RewindPlan(store, now, now.changes_since(wanted), persons=persons, left=left)
