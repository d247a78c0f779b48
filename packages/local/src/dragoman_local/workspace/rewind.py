"""Restores a folder to an earlier snapshot, and shows first whose work that would undo.

What is there now is a look of its own before anything is changed, so that each way back has a way forth.
Files that hold secrets, and those that git ignores, are not kept and stay as they are; so do files that were
too large. Nothing of git is touched: neither its index nor a ref, nor anything in its folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

from dragoman_local.workspace.change_set import RevertRefused, TurnChangeSet, in_revert_order
from dragoman_local.workspace.folder_snapshot import is_secret_name
from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.snapshot_entries import SnapshotEntry
from dragoman_local.workspace.snapshots import FileChange, Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore, Turn


class RewindStep(Struct, frozen=True, kw_only=True):
    """One file to restore."""

    path: str
    act: Literal["restore", "remove", "change"]
    is_persons: bool = False
    """Whether somebody changed it since whom no turn can answer for."""


class RewindFailure(Struct, frozen=True, kw_only=True):
    """One file that could not be restored."""

    path: str
    why: str


_ACTS: dict[str, Literal["restore", "remove", "change"]] = {
    "added": "remove",
    "removed": "restore",
    "modified": "change",
}


class RewindPlan:
    """The changes of a rewind in one folder. Made by `plan_rewind`; `aclose` forgets it."""

    def __init__(
        self,
        store: TreeStore,
        now: Snapshot,
        changes: TurnChangeSet,
        *,
        persons: Collection[str],
        left: Sequence[str],
        identity: str,
    ) -> None:
        self._store = store
        self._now = now
        self._changes = changes
        self._files = in_revert_order(changes.files)
        self.root = now.roots[0]
        self.identity = identity
        """The same for another plan only if that would do the same to the same files."""
        self.steps = [self._step(change, persons) for change in self._files]
        self.left = left
        """Files that are not as they were, and stay so."""

    def _step(self, change: FileChange, persons: Collection[str]) -> RewindStep:
        path = change.path.removeprefix(f"{self.root}/")
        return RewindStep(path=path, act=_ACTS[change.kind], is_persons=path in persons)

    @property
    def files(self) -> Sequence[FileChange]:
        """What is different now from how it was, in the order of `steps`."""
        return self._files

    async def carry_out(
        self,
        session: str,
        *,
        is_undo: bool,
        title: str = "",
        stream: str = "",
        spare: Collection[str] = (),
    ) -> list[RewindFailure]:
        """Put all files back but those of `spare`, between two looks of the store; what could not be. `title`
        says where to, for agents that are told of it. It is forgotten with `stream`.
        """
        kind = "undo" if is_undo else "rewind"
        turn = await asyncio.to_thread(
            self._store.begin_turn, session, [self.root], kind=kind, prompt=title, stream=stream
        )
        await self._now.record(turn, "begin")
        failures: list[RewindFailure] = []
        for step, change in zip(self.steps, self._files, strict=True):
            if step.path in spare:
                continue
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
    """Plan how to restore a folder to a snapshot of its history."""
    now = await take_snapshot([root], store=store)
    try:
        await now.record(None, "now")
        return await asyncio.to_thread(_plan, store, now, look)
    except BaseException:
        await now.aclose()
        raise


def _plan(store: TreeStore, now: Snapshot, look: int) -> RewindPlan:
    root = now.roots[0]
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
    seen = [(path, wanted.get(path), there.get(path), path in persons) for path in different]
    return RewindPlan(
        store,
        now,
        now.changes_since(wanted),
        persons=persons,
        left=left,
        identity=hashlib.sha256(repr((root, seen)).encode(errors="surrogateescape")).hexdigest(),
    )


def turn_places(store: TreeStore, turns: Collection[Turn]) -> list[tuple[str, int]]:
    """The folders of these turns, each with the look before its turn."""
    return [
        (root, turn.first)
        for root in store.roots()
        for turn in store.turns(root)
        if turn in turns and turn.first is not None
    ]


def last_rewind(store: TreeStore, root: str) -> Turn | None:
    """The last rewind in a folder that was not undone."""
    stack: list[Turn] = []
    for turn in store.turns(root):
        if turn.kind == "rewind" and turn.first is not None:
            stack.append(turn)
        elif turn.kind == "undo" and stack:
            stack.pop()
    return stack[-1] if stack else None


NAMED = 20
"""Files that an agent is told of by name."""


def rewind_note(store: TreeStore, session: str, roots: Collection[str]) -> str:
    """What an agent must be told with its next prompt: that files of its folders were put back since its last
    turn. Empty if none were, or all of that was taken back.
    """
    parts: list[str] = []
    for root in map(os.path.realpath, roots) if store.has_rewinds() else ():
        since: list[Turn] = []
        is_known = False
        for turn in store.turns(root):
            if turn.kind == "turn":
                is_known, since = (
                    is_known or turn.session == session,
                    [] if turn.session == session else since,
                )
            elif turn.kind == "rewind":
                since.append(turn)
            elif since:
                since.pop()
        looks = {turn.last for turn in since}
        changes = store.changes(root) if is_known and looks else {}
        paths = sorted({path for look, own in changes.items() if look in looks for path in own})
        if paths:
            more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
            title = since[-1].prompt or "an earlier state"
            parts.append(f"{root}: back to {title}. Changed: {', '.join(paths[:NAMED])}{more}.")
    return f"{NOTE} {' '.join(parts)} Read these files again before you change them." if parts else ""


NOTE = "The user has put files back since your last turn. This is a note of the program that connects you."
