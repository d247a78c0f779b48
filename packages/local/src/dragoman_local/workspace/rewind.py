"""Restores a folder to an earlier snapshot, and first shows whose work that would undo.

What is there now is a look of its own before anything is changed, so that each way back has a way forth.
Files that hold secrets, and those that git ignores, are not kept and stay as they are; so do files that were
too large. Nothing of git is touched: neither its index nor a ref, nor anything in its folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman_local.workspace.change_set import RevertRefused, TurnChangeSet, in_revert_order
from dragoman_local.workspace.folder_memory import FolderMemory
from dragoman_local.workspace.folder_snapshot import is_secret_name
from dragoman_local.workspace.snapshot_entries import SnapshotEntry, content_digest
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore, Turn
from dragoman_local.workspace.turn_facts import OpenJournal

Places: TypeAlias = Sequence[tuple[str, int]]
"""Folders without links, each with its snapshot to restore."""

Contents: TypeAlias = Mapping[str, bytes | None]
"""The contents of files that differed within a turn, by path in their folder; None for a missing file."""

UNKNOWN = "Dragoman has no record of the files before this turn"

NOTHING_TO_UNDO = "there is nothing to undo in this folder"


class RewindRefused(LocalMistake):
    """No file was restored; the text gives the reason."""


class RewindStep(Struct, frozen=True, kw_only=True):
    """One file to restore."""

    path: str
    act: Literal["restore", "remove", "change"]
    is_persons: bool = False
    """Whether a person may have changed it since: it changed without a turn, or no turn announced it."""
    had_command: bool = False
    """Whether it changed while a command of a turn ran: what a person wrote meanwhile is not told apart."""


class RewindFailure(Struct, frozen=True, kw_only=True):
    """One file that could not be restored."""

    path: str
    why: str


class RewindDone(Struct, frozen=True, kw_only=True):
    """The restored files."""

    turn: int
    """The turn before which the files are now; 0 after undoing a rewind."""
    paths: list[str]
    failures: list[RewindFailure]

    def notice(self, cwd: str) -> tuple[str, str]:
        """The notice in the conversation: a title, and the files."""
        names = [os.path.relpath(path, os.path.realpath(cwd)) for path in self.paths]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return (
            f"Files put back to before turn {self.turn}:" if self.turn else "Rewind undone:",
            f"{', '.join(names[:SHOWN])}{more}.",
        )


SHOWN = 5
"""The most files to name in the conversation."""

_ACTS: dict[str, Literal["restore", "remove", "change"]] = {
    "added": "remove",
    "removed": "restore",
    "modified": "change",
}


class RewindPlan:
    """The changes of a rewind in one folder. Made by `plan_rewind`; `aclose` removes it."""

    def __init__(
        self,
        store: TreeStore,
        now: Snapshot,
        changes: TurnChangeSet,
        *,
        persons: Collection[str],
        commands: Collection[str],
        left: Sequence[str],
        identity: str,
    ) -> None:
        self._store = store
        self._now = now
        self._changes = changes
        self.files = in_revert_order(changes.files)
        """The files that differ now, in the order of `steps`."""
        self.root = now.roots[0]
        self.identity = identity
        """The same for another plan only if that would do the same to the same files."""
        self.steps = [
            RewindStep(
                path=(path := change.path.removeprefix(f"{self.root}/")),
                act=_ACTS[change.kind],
                is_persons=path in persons,
                had_command=path in commands,
            )
            for change in self.files
        ]
        self.left = left
        """Files that are not as they were, and stay so."""

    async def carry_out(
        self,
        session: str,
        *,
        is_undo: bool,
        title: str = "",
        stream: str = "",
        spare: Collection[str] = (),
    ) -> list[RewindFailure]:
        """Restore all files except those of `spare`, between two snapshots of the store; return the failures.
        `title` names the target, for agents that get a note. It is forgotten with `stream`.
        """
        kind = "undo" if is_undo else "rewind"
        turn = await asyncio.to_thread(
            self._store.begin_turn, session, [self.root], kind=kind, prompt=title, stream=stream
        )
        await self._now.record(turn, "begin")
        failures: list[RewindFailure] = []
        for step, change in zip(self.steps, self.files, strict=True):
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


async def plan_rewind(
    store: TreeStore,
    root: str,
    look: int,
    open_journal: OpenJournal,
    contents: Contents | None = None,
    *,
    has_diffs: bool = False,
) -> RewindPlan:
    """Plan how to restore a folder to a snapshot of its history, except files with these contents. Journals
    tell what turns announced. Without diffs, no lines are counted.
    """
    now = await take_snapshot([root], store=store)
    try:
        await now.record(None, "now")
        memory = await asyncio.to_thread(
            FolderMemory, store, root, open_journal, since=look, most_bytes=sys.maxsize
        )
        persons, commands = await memory.changed_by_others()
        return await asyncio.to_thread(
            _plan, store, now, look, contents or {}, persons, commands, has_diffs=has_diffs
        )
    except BaseException:
        await now.aclose()
        raise


def _plan(
    store: TreeStore,
    now: Snapshot,
    look: int,
    contents: Contents,
    persons: Collection[str],
    commands: Collection[str],
    *,
    has_diffs: bool,
) -> RewindPlan:
    root = now.roots[0]
    there, wanted = now.entries, store.tree(root, look)
    _put(store, wanted, there, {path: contents[path] for path in contents.keys() - now.private_paths})
    different = [path for path in sorted(wanted.keys() | there.keys()) if wanted.get(path) != there.get(path)]
    sides = [entry for path in different for tree in (wanted, there) if (entry := tree.get(path))]
    missing = store.missing(entry.digest for entry in sides if entry.is_kept)

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
    return RewindPlan(
        store,
        now,
        now.changes_since(wanted, has_diffs=has_diffs),
        persons=persons,
        commands=commands,
        left=left,
        identity=hashlib.sha256(
            repr(
                (root, [(path, wanted.get(path), there.get(path), path in persons) for path in different])
            ).encode(errors="surrogateescape")
        ).hexdigest(),
    )


def _put(
    store: TreeStore,
    tree: dict[str, SnapshotEntry],
    there: Mapping[str, SnapshotEntry],
    contents: Contents,
) -> None:
    """Let the tree have these contents, and the store, but for files that hold secrets."""
    for path, content in contents.items():
        if is_secret_name(path):
            continue
        old = tree.pop(path, None) or there.get(path) or SnapshotEntry("file", "", 0)
        if content is not None:
            tree[path] = old._replace(digest=content_digest(content), size=len(content))
            store.keep({tree[path].digest: (content, None)})


class FolderRewind:
    """All changes of going back to a turn, shown before they are made. Made by `planned_rewind`."""

    def __init__(self, store: TreeStore, plans: Sequence[RewindPlan]) -> None:
        self._store = store
        self.plans = plans

    @property
    def identity(self) -> str:
        return ".".join(plan.identity for plan in self.plans)

    async def is_busy(self) -> bool:
        """Whether a turn runs in one of the folders."""
        return await asyncio.to_thread(lambda: any(self._store.is_busy(plan.root) for plan in self.plans))

    async def preview(self, turn: int) -> dict[str, Any]:
        """Return the changes of a rewind and their authors, as JSON: each file with the effect of restoring
        it. Later additions are lost.
        """
        return {
            "turn": turn,
            "isBusy": await self.is_busy(),
            "files": [
                {
                    "path": change.path,
                    "act": step.act,
                    "isPersons": step.is_persons,
                    "hadCommand": step.had_command,
                    "added": change.lines_removed,
                    "removed": change.lines_added,
                }
                for plan in self.plans
                for step, change in zip(plan.steps, plan.files, strict=True)
            ],
            "left": [os.path.join(plan.root, path) for plan in self.plans for path in plan.left],
            "identity": self.identity,
        }

    async def carry_out(
        self,
        session: str,
        *,
        turn: int,
        stream: str,
        identity: str | None = None,
        also: Collection[str] = (),
    ) -> RewindDone:
        """Restore files; of those that a person changed since, only those in `also`. Without an `identity`
        this undoes a rewind, and a person's change refuses all of it. Raises `RewindRefused`.
        """
        if await self.is_busy():
            raise RewindRefused("a turn runs in this folder: let it end first")
        if identity is not None and identity != self.identity:
            raise RewindRefused("files changed since you looked: look again")
        spares = [
            {
                step.path
                for step in plan.steps
                if step.is_persons and os.path.join(plan.root, step.path) not in also
            }
            for plan in self.plans
        ]
        if identity is None and any(spares):
            names = sorted(os.path.basename(path) for spare in spares for path in spare)[:3]
            raise RewindRefused(f"files were changed since by a person: {', '.join(names)}")
        done: list[str] = []
        failures: list[RewindFailure] = []
        for plan, spare in zip(self.plans, spares, strict=True):
            own = await plan.carry_out(
                session,
                is_undo=identity is None,
                title=f"before turn {turn} of {session}",
                stream=stream,
                spare=spare,
            )
            failures += own
            done += [
                os.path.join(plan.root, path)
                for path in {step.path for step in plan.steps} - spare - {failure.path for failure in own}
            ]
        return RewindDone(turn=turn if identity is not None else 0, paths=sorted(done), failures=failures)


@asynccontextmanager
async def planned_rewind(
    store: TreeStore,
    places: Places,
    open_journal: OpenJournal,
    *,
    contents: Mapping[str, Contents] | None = None,
    has_diffs: bool = False,
) -> AsyncIterator[FolderRewind]:
    """Yield the plans for some folders, inside the block; `contents` by folder. A preview wants diffs. Raises
    `RewindRefused`.
    """
    async with AsyncExitStack() as stack:
        plans: list[RewindPlan] = []
        for root, look in places:
            if not await asyncio.to_thread(os.path.isdir, root):
                raise RewindRefused(f"{root} no longer exists")
            plans.append(
                await plan_rewind(
                    store, root, look, open_journal, (contents or {}).get(root), has_diffs=has_diffs
                )
            )
            stack.push_async_callback(plans[-1].aclose)
        yield FolderRewind(store, plans)


def session_places(
    store: TreeStore, session: str, *, key: str = "", number: int | None = None
) -> tuple[int, Places]:
    """Return a turn of a session, by the key of its prompt or by its number, by default the last one; and its
    folders with the snapshots before it, none if it is not stored.
    """
    turns = [
        turn
        for turn in store.turns(session=session)
        if turn.kind == "turn"
        and turn.first is not None
        and (turn.key == key if key else number in (None, turn.number))
    ]
    turns = [turn for turn in turns if turn.id == turns[-1].id]
    return (turns[0].number if turns else 0), turn_places(store, turns)


def undo_places(store: TreeStore, folders: Sequence[str]) -> Places:
    """Return where the last rewind of these folders began; nothing if all were undone."""
    found = [
        (root, turn)
        for root in dict.fromkeys(map(os.path.realpath, folders))
        if (turn := last_rewind(store, root)) is not None
    ]
    latest = max((turn.id for _, turn in found), default=0)
    return [(root, turn.first) for root, turn in found if turn.id == latest and turn.first is not None]


def turn_places(store: TreeStore, turns: Collection[Turn]) -> list[tuple[str, int]]:
    """Return the folders of these turns, each with the snapshot before its turn."""
    return [
        (root, first)
        for turn in dict.fromkeys(turn.id for turn in turns)
        for root, first, _ in store.folders_of(turn)
        if first is not None
    ]


def last_rewind(store: TreeStore, root: str) -> Turn | None:
    """Return the last rewind in a folder that was not undone."""
    stack: list[Turn] = []
    for turn in store.turns(root):
        if turn.kind == "rewind" and turn.first is not None:
            stack.append(turn)
        elif turn.kind == "undo" and stack:
            stack.pop()
    return stack[-1] if stack else None


NAMED = 20
"""The most files to name to an agent."""


def rewind_note(store: TreeStore, session: str, roots: Collection[str]) -> str:
    """Return the note for an agent's next prompt: files of its folders that were restored since its last
    turn. Empty if none were, or all of that was undone.
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
        # One that restored nothing has no look of its own.
        ends = {(turn.first, turn.last) for turn in since if is_known}
        looks = [last for first, last in ends if last is not None and last != first]
        paths = sorted({path for look in looks for path in store.changes_at(look)})
        if paths:
            more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
            parts.append(
                f"{root}: back to {since[-1].prompt or 'an earlier state'}. "
                f"Changed: {', '.join(paths[:NAMED])}{more}."
            )
    return f"{NOTE} {' '.join(parts)} Read these files again before you change them." if parts else ""


NOTE = "The user has put files back since your last turn. This is a note of the program that connects you."
