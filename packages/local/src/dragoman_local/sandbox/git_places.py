"""Paths of git for the sandbox: commits must work, but a command must not plant code that git runs later.

A repository's `config` and `hooks` say which programs git starts. They are read-only, and so is a file
`.git`, which says where the repository is. Everything is read as files: git itself is not asked, because it
would obey the configuration that we are about to protect.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress

from msgspec import Struct

MOST_FOLDERS = 2000
DEPTH = 4
"""The depth of the search for nested repositories. A session's first command waits for it."""

_SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", "venv", "target", ".tox", ".mypy_cache"}
)
_COMMON = ("objects", "refs", "logs", "reftable", "lfs")
_NESTED = 5
"""How deep files of settings include each other; git itself stops at ten."""


class GitPlaces(Struct, frozen=True):
    """The paths as found."""

    writable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    """Paths that git would obey and that do not exist."""

    def __add__(self, other: GitPlaces) -> GitPlaces:
        return GitPlaces(
            self.writable + other.writable, self.read_only + other.read_only, self.reserved + other.reserved
        )


def git_places(folder: str, home: str = "") -> GitPlaces:
    """Return the paths of the repository around a folder, and of those below it. A repository without a hooks
    folder gets an empty one: a missing folder can't be protected. Settings in the home folder apply to all.
    """
    found, hooks = GitPlaces(), list[str]()
    for name in ("/etc/gitconfig", ".gitconfig", ".config/git/config") if home else ():
        included, more, _ = _settings(os.path.join(home, name))
        found, hooks = found + _parts(included), hooks + more
    above = folder
    while not os.path.lexists(os.path.join(above, ".git")) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if above != os.path.dirname(above):
        found += _repository(above, hooks)
    for path in (*filter(_is_bare, (folder,)), *nested_repositories(folder)):
        found += _repository(path, hooks)
    return found


def nested_repositories(folder: str) -> Iterator[str]:
    """Return folders below this one that have a `.git`, or are a repository without a work tree."""
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
        yield from (path for path in below if os.path.lexists(os.path.join(path, ".git")) or _is_bare(path))
        level = below


def _is_bare(path: str) -> bool:
    return all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))


def _repository(work_tree: str, hooks: list[str]) -> GitPlaces:
    path = os.path.join(work_tree, ".git")
    elsewhere = _parts(_hooks(work_tree, hooks))
    if os.path.islink(path):
        return elsewhere + GitPlaces((), (os.path.realpath(path),))
    if os.path.isdir(path):
        return elsewhere + GitPlaces((path,)) + _protected(path, work_tree)
    if not os.path.lexists(path):  # it has no work tree
        return elsewhere + _protected(work_tree, work_tree)
    pointer = os.path.realpath(os.path.join(work_tree, _line(path).removeprefix("gitdir:").strip()))
    own = elsewhere + GitPlaces((), (path,))
    common = _line(os.path.join(pointer, "commondir"))
    if common:
        return own + _linked_work_tree(path, pointer, os.path.realpath(os.path.join(pointer, common)))
    if os.path.realpath(_work_tree_of(pointer)) == os.path.realpath(work_tree):  # it knows this work tree
        return own + GitPlaces((pointer,)) + _protected(pointer, work_tree)
    return own


def _linked_work_tree(path: str, pointer: str, common: str) -> GitPlaces:
    """The paths that a commit needs in the main repository. Anybody can write a file `.git` and the folder
    that it names: the repository must know this work tree, too, or nothing is granted.
    """
    known = os.path.realpath(_line(os.path.join(pointer, "gitdir"))) == os.path.realpath(path)
    if not known or os.path.dirname(pointer) != os.path.join(common, "worktrees"):
        return GitPlaces()
    shared = tuple(folder for name in _COMMON if os.path.isdir(folder := os.path.join(common, name)))
    return GitPlaces((pointer, *shared)) + _protected(common, os.path.dirname(path), ours=False)


def _protected(git_folder: str, work_tree: str, *, ours: bool = True) -> GitPlaces:
    """Paths that decide which programs git runs, in a repository, its work trees and its submodules."""
    own = [os.path.join(git_folder, name) for name in ("hooks", "config", "config.worktree", "commondir")]
    if ours:
        _make(git_folder, "hooks")
    included, hooks, each_tree = _settings(own[1])
    trees = _names(os.path.join(git_folder, "worktrees"))
    for folder in (*([git_folder] if ours else []), *trees) if each_tree else ():
        _make(folder, "config.worktree")
    settings = (own[2], *(f"{name}/config.worktree" for name in trees))
    for path in settings:
        more = _settings(path)
        included, hooks = included + more[0], hooks + more[1]
    of_trees = [f"{name}/{part}" for name in trees for part in ("commondir", "gitdir")]
    found = _parts([*own[:2], *of_trees, own[3], *included, *_hooks(work_tree, hooks)])
    found += GitPlaces((), tuple(filter(os.path.exists, settings)))
    for name in _submodules(os.path.join(git_folder, "modules")):
        found += _protected(name, _work_tree_of(name), ours=ours)
    return found


def _make(folder: str, name: str) -> None:
    """Create an empty one, if it is missing. A command may have made a link of each of these names, and may
    exchange them now: none is followed.
    """
    with suppress(OSError), ExitStack() as stack:  # it is there, or nobody may write here anyway
        parent = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        stack.callback(os.close, parent)
        if os.readlink(f"/proc/self/fd/{parent}") == folder and name == "hooks":
            os.mkdir(name, dir_fd=parent)
        elif os.readlink(f"/proc/self/fd/{parent}") == folder:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=parent))


def _parts(paths: list[str]) -> GitPlaces:
    there = tuple(path for path in paths if os.path.exists(path))
    return GitPlaces((), there, tuple(path for path in paths if not os.path.lexists(path)))


def _settings(path: str, nested: int = _NESTED) -> tuple[list[str], list[str], bool]:
    """Of a file of git's settings: the files that it includes, also by a condition, and those that they
    include; the folders of hooks; whether each work tree has settings of its own.
    """
    included, hooks, each_tree, section = list[str](), list[str](), False, ""
    for line in _content(path, 1 << 20).splitlines():
        if (line := line.strip()).startswith("["):
            head, _, line = line[1:].rpartition("]")
            section = head.lower().replace(".", " ").partition(" ")[0]
        name, _, value = line.partition("=")
        value = value.partition(" #")[0].partition(" ;")[0].strip().strip('"')
        match section, name.strip().lower():
            case "include" | "includeif", "path" if value and nested:
                file = os.path.normpath(os.path.join(os.path.dirname(path), os.path.expanduser(value)))
                below = _settings(file, nested - 1)
                included, hooks = [*included, file, *below[0]], hooks + below[1]
            case "core", "hookspath" if value:
                hooks.append(os.path.expanduser(value))
            case "extensions", "worktreeconfig":
                each_tree = value.lower() not in ("false", "no", "off", "0")
    return included, hooks, each_tree


def _hooks(work_tree: str, folders: list[str]) -> list[str]:
    """Hooks in a folder like `.husky/_` start what is in the folder above it."""
    paths = [os.path.normpath(os.path.join(work_tree, folder)) for folder in folders]
    return [os.path.dirname(path) if os.path.basename(path) == "_" else path for path in paths]


def _submodules(folder: str) -> Iterator[str]:
    """The folders of git in it; that of a submodule `a/b` is deeper than others."""
    for path in _names(folder):
        if os.path.isfile(os.path.join(path, "HEAD")):
            yield path
        elif not os.path.islink(path):
            yield from _submodules(path)


def _work_tree_of(git_folder: str) -> str:
    """Of a submodule, as its own settings say, which may be in either file."""
    files = (_content(os.path.join(git_folder, name), 1 << 16) for name in ("config", "config.worktree"))
    for line in "\n".join(files).splitlines():
        name, _, value = line.partition("=")
        if name.strip().lower() == "worktree":
            return os.path.normpath(os.path.join(git_folder, value.strip().strip('"')))
    return os.path.dirname(git_folder)


def _names(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def _line(path: str) -> str:
    return _content(path, 4096).split("\n")[0].strip()


def _content(path: str, most: int) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(most))
    except OSError:
        return ""
