"""Where git keeps things, for the wall: a commit must work, and nobody may plant what git runs later.

A repository's `config` and `hooks` say which programs git starts. They are read-only, and so is a file
`.git`, which says where the repository is. Everything is read as files: git itself is not asked, because it
would obey the configuration that we are about to protect.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

MOST_FOLDERS = 2000
DEPTH = 4
"""How far nested repositories are looked for. A session's first command waits for it."""

_SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", "venv", "target", ".tox", ".mypy_cache"}
)
_COMMON = ("objects", "refs", "logs", "reftable", "lfs")
_HOOKS_PATH = re.compile(rb"^\s*hookspath\s*=\s*\"?([^\"\n]+)", re.IGNORECASE | re.MULTILINE)


class GitPlaces(Struct, frozen=True):
    """Paths, as they are found."""

    writable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()

    def __add__(self, other: GitPlaces) -> GitPlaces:
        return GitPlaces(self.writable + other.writable, self.read_only + other.read_only)


def git_places(folder: str) -> GitPlaces:
    """Of the repository that a folder is in, and of those below it. A repository without a folder for hooks
    gets an empty one: what is not there cannot be protected.
    """
    found = GitPlaces()
    above = folder
    while not os.path.lexists(os.path.join(above, ".git")) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if above != os.path.dirname(above):
        found += _repository(above)
    for nested in nested_repositories(folder):
        found += _repository(nested)
    return found


def nested_repositories(folder: str) -> Iterator[str]:
    """Folders below this one that have a `.git`."""
    level, seen = [folder], 0
    for _ in range(DEPTH):
        below = []
        for parent in level:
            seen += 1
            if seen > MOST_FOLDERS:
                return
            with suppress(OSError), os.scandir(parent) as entries:
                below += [
                    entry.path
                    for entry in entries
                    if entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False)
                ]
        yield from (path for path in below if os.path.lexists(os.path.join(path, ".git")))
        level = below


def _repository(work_tree: str) -> GitPlaces:
    path = os.path.join(work_tree, ".git")
    if os.path.islink(path):
        return GitPlaces((), (os.path.realpath(path),))
    if os.path.isdir(path):
        return GitPlaces((path,)) + _protected(path)
    pointer = os.path.realpath(os.path.join(work_tree, _line(path).removeprefix("gitdir:").strip()))
    own = GitPlaces((), (path,))
    common = _line(os.path.join(pointer, "commondir"))
    if common:
        return own + _linked_work_tree(path, pointer, os.path.realpath(os.path.join(pointer, common)))
    if _is_submodule(work_tree, pointer):
        return own + GitPlaces((pointer,)) + _protected(pointer)
    return own


def _linked_work_tree(path: str, pointer: str, common: str) -> GitPlaces:
    """What a commit needs of the repository elsewhere. Anybody can write a file `.git`: the repository must
    know this work tree, too, or nothing is granted.
    """
    if os.path.realpath(_line(os.path.join(pointer, "gitdir"))) != os.path.realpath(path):
        return GitPlaces()
    shared = tuple(folder for name in _COMMON if os.path.isdir(folder := os.path.join(common, name)))
    return GitPlaces((pointer, *shared)) + _protected(common, make_hooks=False)


def _is_submodule(work_tree: str, pointer: str) -> bool:
    parent = os.path.dirname(work_tree)
    while parent != os.path.dirname(parent):
        if pointer.startswith(os.path.join(os.path.realpath(parent), ".git", "modules") + "/"):
            return os.path.isfile(os.path.join(pointer, "HEAD"))
        parent = os.path.dirname(parent)
    return False


def _protected(git_folder: str, *, make_hooks: bool = True) -> GitPlaces:
    """What decides which programs git runs, in a repository, its work trees and its submodules."""
    hooks, config = os.path.join(git_folder, "hooks"), os.path.join(git_folder, "config")
    if make_hooks:
        with suppress(OSError):  # it is there, or nobody may write here anyway
            os.mkdir(hooks)
    paths = [hooks, config, os.path.join(git_folder, "config.worktree")]
    with suppress(OSError), open(config, "rb") as file:
        text = file.read(1 << 20)
        if match := _HOOKS_PATH.search(text):
            paths.append(os.path.join(os.path.dirname(git_folder), os.fsdecode(match[1].strip())))
        if make_hooks and b"worktreeconfig" in text.lower():
            with suppress(OSError):
                os.close(os.open(paths[2], os.O_CREAT | os.O_WRONLY, 0o644))
    for name in _names(os.path.join(git_folder, "worktrees")):
        paths += [os.path.join(name, part) for part in ("commondir", "gitdir", "config.worktree")]
    found = GitPlaces((), tuple(path for path in paths if os.path.exists(path)))
    for name in _names(os.path.join(git_folder, "modules")):
        if os.path.isfile(os.path.join(name, "HEAD")):
            found += _protected(name, make_hooks=make_hooks)
    return found


def _names(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def _line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(4096).split(b"\n")[0]).strip()
    except OSError:
        return ""
