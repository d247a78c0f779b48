"""Makes a copy of a folder as it was in a snapshot: as a git work tree, or as a plain copy.

    plan = plan_fork(store, root, look, name=fork_name(session, 3))
    await fork_folder(store, plan)  # makes it, and remembers what it was made of

The repository gets the new work tree and its branch, and nothing else: the checkout, the index and all other
refs stay as they are, no hook runs, and no program that the configuration names. So files are written as
their commit holds them, without filters. Files whose content is not kept come from the commit if it has them.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.system.git import GitCommand, ask_repository
from dragoman.system.git_process import GitFailed, GitTimeout, git_program, run_git
from dragoman_local.workspace.change_set import put_entry
from dragoman_local.workspace.folder_snapshot import find_repository
from dragoman_local.workspace.git_objects import GIT_SECONDS, ask_git, read_objects, tracked_files
from dragoman_local.workspace.snapshot_entries import Kind, SnapshotEntry, content_digest, open_parent
from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_local.workspace.tree_store import Fork, TreeStore


class ForkPlan(Struct, frozen=True, kw_only=True):
    """The copy to be made."""

    root: str
    """The source folder."""
    look: int
    place: str
    """Where the new work tree, or the copy, will be."""
    folder: str
    """The folder in place of the root: the root may be inside its work tree."""
    branch: str = ""
    """Empty outside git."""
    base: str = ""
    """The commit on which the branch begins."""
    entries: Mapping[str, SnapshotEntry]
    """By path in `place`, the files from the store."""
    tracked: Mapping[str, tuple[Kind, str]]
    """By path in `place`, the files from the commit: kind and object."""
    left: Sequence[str] = ()
    """Files that will be missing: secret, ignored or too large to be stored."""

    @property
    def file_count(self) -> int:
        return len(self.entries) + len(self.tracked)


def fork_name(session: str, turn: int) -> str:
    """Return the name of a fork of a session after a turn."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"fork-{session[:8]}-{turn}")


def plan_fork(store: TreeStore, root: str, look: int, *, place: str | None = None, name: str) -> ForkPlan:
    """Return the plan of a fork without changes. `name` is for the branch, and for the place if none is
    given. Raises `LocalMistake` if a fork is impossible.
    """
    top = base = ""
    if any(os.path.lexists(folder / ".git") for folder in (Path(root), *Path(root).parents)):
        try:
            top = find_repository(root, GIT_SECONDS).top
            base = _base(root, store.time_of(look))
        except (GitFailed, GitTimeout) as error:
            raise LocalMistake(
                f"no git worktree can be made of {root}: {str(error) or 'git did not answer'}"
            ) from error
    ground = top or root
    own_name = next(
        own_name
        for own_name in (name if number == 1 else f"{name}-{number}" for number in count(1))
        if (place is not None or not os.path.lexists(f"{ground}-{own_name}"))
        and not (
            top
            and ask_git(
                root, "for-each-ref", "--count=1", f"refs/heads/{own_name}", f"refs/heads/{own_name}/*"
            ).strip()
        )
    )
    own_place = os.path.realpath(place or f"{ground}-{own_name}")
    _check_place(own_place, ground)
    prefix = "" if root == ground else f"{os.path.relpath(root, ground)}/"
    tree = store.tree(root, look)
    missing = store.missing(entry.digest for entry in tree.values() if entry.is_kept)
    entries = {path: entry for path, entry in tree.items() if entry.is_kept and entry.digest not in missing}
    lost = {prefix + path for path in tree.keys() - entries.keys()}
    tracked = {
        path: item
        for path, item in (tracked_files(root, base) if top else {}).items()
        if path in lost or not path.startswith(prefix)
    }
    return ForkPlan(
        root=root,
        look=look,
        place=own_place,
        folder=os.path.join(own_place, prefix).rstrip("/"),
        branch=own_name if top else "",
        base=base,
        entries={prefix + path: entry for path, entry in entries.items()},
        tracked=tracked,
        left=sorted(path.removeprefix(prefix) for path in lost - tracked.keys()),
    )


async def fork_folder(store: TreeStore, plan: ForkPlan) -> None:
    """Make the copy, and store who wrote its lines. Raises `LocalMistake`."""
    await asyncio.to_thread(make_fork, store, plan)
    async with await take_snapshot([plan.folder], store=store) as snapshot:
        await snapshot.record(None, "now")
    looks = await asyncio.to_thread(store.looks, plan.folder)
    await asyncio.to_thread(store.record_fork, plan.folder, Fork(plan.root, plan.look, looks[-1].id))


def make_fork(store: TreeStore, plan: ForkPlan) -> None:
    """Make the copy. An incomplete copy is removed again."""
    try:
        if plan.branch:
            words = ("worktree", "add", "--no-checkout", "-b", plan.branch, "--", plan.place, plan.base)
            run_git(ask_repository(git_program(), words), cwd=plan.root, seconds=GIT_SECONDS)
            run_git(_git_there("read-tree", plan.base), cwd=plan.place, seconds=GIT_SECONDS)
        os.makedirs(plan.place, exist_ok=True)
        for path, entry in plan.entries.items():
            _write(plan.place, path, entry, store.content(entry.digest))
        contents = read_objects(plan.root, [name for _, name in plan.tracked.values()])
        for (path, (kind, _)), content in zip(plan.tracked.items(), contents, strict=True):
            mode = {"file": 0o644, "program": 0o755, "link": None}[kind]
            _write(
                plan.place, path, SnapshotEntry(kind, content_digest(content), len(content), mode), content
            )
    except BaseException as error:
        remove_fork(plan)
        if isinstance(error, GitFailed | GitTimeout | OSError):
            raise LocalMistake(f"the fork could not be made in {plan.place}: {error}") from error
        raise


def _check_place(place: str, ground: str) -> None:
    if os.path.lexists(place) and (not os.path.isdir(place) or os.listdir(place)):
        raise LocalMistake(f"{place} exists already and is not an empty folder")
    if f"{place}/".startswith(f"{ground}/") or f"{ground}/".startswith(f"{place}/"):
        raise LocalMistake(f"{place} can't be a fork of {ground}: one of the two folders is in the other")


def _base(root: str, time: float) -> str:
    """The last commit that there was at a time; the latest one if all are younger."""
    for words in (
        ("rev-list", "-1", "--first-parent", f"--before={int(time) + 1}", "HEAD"),
        ("rev-parse", "HEAD"),
    ):
        try:
            if found := ask_git(root, *words).strip():
                return found
        except GitFailed:  # HEAD names a branch that is not there
            break
    raise GitFailed("there is no commit yet")


def _git_there(*words: str) -> GitCommand:
    """A command for the new work tree: variables that name another one or its index are not for it."""
    command = ask_repository(git_program(), words)
    others = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR")
    return command._replace(env={name: value for name, value in command.env.items() if name not in others})


def _write(place: str, path: str, entry: SnapshotEntry, content: bytes) -> None:
    folder = open_parent(place, path, make=True)
    try:
        put_entry(os.path.basename(path), folder, entry, content)
    finally:
        os.close(folder)


def remove_fork(plan: ForkPlan) -> None:
    """Remove an unused copy, with its branch."""
    shutil.rmtree(plan.place, ignore_errors=True)
    if plan.branch:
        forget = ("update-ref", "-d", f"refs/heads/{plan.branch}", plan.base)  # if it is as we made it
        for words in (("worktree", "prune"), forget):
            try:
                ask_git(plan.root, *words)
            except (GitFailed, GitTimeout):  # it was not made, or something else is wrong: that is told
                pass
