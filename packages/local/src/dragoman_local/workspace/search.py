"""Finds files by a pattern below the roots of a session, with limits in count and time.

`*` and `?` stand for characters within one name, `[…]` for one of several, `**` as a whole name for any
number of folders. A relative pattern starts at `cwd`. Folders are listed by descriptors and links to folders
are not followed; a link to a file counts if that file lies within the roots. `.git` is never entered, other
hidden names only if the pattern spells out their dot or the caller wants them.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.paths import MOST_NAMES, Names, join_names, parse, split_path
from dragoman_local.workspace.places import open_listing
from dragoman_local.workspace.refusals import bad_path, reason_of
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings

_WILD = re.compile(r"[*?\[]")
_ANY_FOLDERS = "**"
_NEVER = ".git"


class SearchMatches(NamedTuple):
    """The matching paths, sorted folder by folder."""

    matches: list[str]
    is_truncated: bool
    """Whether there may be more: a limit was reached."""


def search(
    roots: Roots, settings: FileSettings, pattern: str, *, hidden: bool = False, limit: int | None = None
) -> SearchMatches:
    folder, wild = _split(roots, pattern)
    if _NEVER in split_path(pattern):
        return SearchMatches([], is_truncated=False)
    most = settings.glob_matches if limit is None else min(limit, settings.glob_matches)
    hunt = _Hunt(roots, settings, GlobPattern(wild, hidden=hidden), most=most)
    try:
        with roots.place(folder, may_be_folder=True) as place:
            status = place.status()
            if status is not None and stat.S_ISDIR(status.st_mode):
                fd = place.open_folder()
                try:
                    hunt.run(fd, folder)
                finally:
                    os.close(fd)
    except _Enough:
        return SearchMatches(hunt.matches, is_truncated=True)
    except ErrorAnswer as error:
        if reason_of(error) != "missing":
            raise
    return SearchMatches(hunt.matches, is_truncated=hunt.cut)


def _split(roots: Roots, pattern: str) -> tuple[str, Names]:
    """The folder that a pattern starts at, and the names from its first wild one on."""
    if not pattern:
        raise bad_path("the pattern is empty")
    route = parse(pattern if pattern.startswith("/") else f"{roots.cwd}/{pattern}")
    if ".." in route.names:
        raise bad_path("a pattern can't contain `..`")
    plain = next((at for at, name in enumerate(route.names) if _WILD.search(name)), len(route.names) - 1)
    plain = max(plain, 0)
    return join_names(route.names[:plain]), route.names[plain:]


class GlobPattern:
    """Names to match, in order. A position is how many of them a path has matched."""

    def __init__(self, names: Sequence[str], *, hidden: bool) -> None:
        self._names = tuple(names)
        self._with_hidden = hidden
        self._matchers = [re.compile(fnmatch.translate(name)).match for name in names]

    def start(self) -> frozenset[int]:
        return self._skip_any_folders({0})

    def after(self, positions: frozenset[int], name: str) -> frozenset[int]:
        """Return the positions in the pattern after one more name."""
        next_positions: set[int] = set()
        for at in positions:
            if at == len(self._names):
                continue
            if not self._may_be(name, self._names[at]):
                continue
            if self._names[at] == _ANY_FOLDERS:
                next_positions.add(at)
                if at == len(self._names) - 1:  # at the end it stands for files too
                    next_positions.add(at + 1)
            elif self._matchers[at](name):
                next_positions.add(at + 1)
        return self._skip_any_folders(next_positions)

    def is_end(self, positions: frozenset[int]) -> bool:
        return len(self._names) in positions

    def _may_be(self, name: str, pattern: str) -> bool:
        if name == _NEVER:
            return False
        return self._with_hidden or not name.startswith(".") or pattern.startswith(".")

    def _skip_any_folders(self, positions: set[int]) -> frozenset[int]:
        """Let `**` also match no folder, but not the file itself."""
        for at in sorted(positions):
            while at < len(self._names) - 1 and self._names[at] == _ANY_FOLDERS:
                at += 1
                positions.add(at)
        return frozenset(positions)


class _Enough(Exception):
    """A bound was reached."""


class _Hunt:
    """One search."""

    def __init__(self, roots: Roots, settings: FileSettings, pattern: GlobPattern, *, most: int) -> None:
        self._roots = roots
        self._pattern = pattern
        self._most = most
        self._entries = settings.glob_entries
        self._deadline = time.monotonic() + settings.glob_seconds
        self.matches: list[str] = []
        self.cut = False

    def run(self, fd: int, folder: str) -> None:
        self._list(fd, folder, self._pattern.start(), depth=0)

    def _list(self, fd: int, folder: str, positions: frozenset[int], *, depth: int) -> None:
        if depth > MOST_NAMES // 2:
            self.cut = True
            return
        for entry in self._sorted_entries(fd):
            after = self._pattern.after(positions, entry.name)
            if not after or not _can_be_said(entry.name):
                continue
            path = os.path.join(folder, entry.name)
            if entry.is_dir(follow_symlinks=False):
                self._enter(fd, entry.name, path, after, depth)
            elif self._pattern.is_end(after) and self._is_file(entry, path):
                self._take(path)

    def _enter(self, fd: int, name: str, path: str, positions: frozenset[int], depth: int) -> None:
        try:
            below = open_listing(name, dir_fd=fd)
        except (OSError, ErrorAnswer):  # gone, forbidden, or exchanged for a link: it has nothing for us
            return
        try:
            self._list(below, path, positions, depth=depth + 1)
        finally:
            os.close(below)

    def _sorted_entries(self, fd: int) -> Iterator[os.DirEntry[str]]:
        """The entries of a folder by name, so that two searches give the same result."""
        entries: list[os.DirEntry[str]] = []
        with os.scandir(fd) as listing:
            for entry in listing:
                self._entries -= 1
                if self._entries < 0 or time.monotonic() > self._deadline:
                    self.cut = True
                    break
                entries.append(entry)
        yield from sorted(entries, key=lambda entry: entry.name)
        if self._entries < 0 or time.monotonic() > self._deadline:
            raise _Enough

    def _is_file(self, entry: os.DirEntry[str], path: str) -> bool:
        if not entry.is_symlink():
            return entry.is_file(follow_symlinks=False)
        try:
            with self._roots.place(path) as place:
                return place.file_status() is not None
        except ErrorAnswer:  # it leads out, or to something that is not a file
            return False

    def _take(self, path: str) -> None:
        if len(self.matches) >= self._most:
            raise _Enough
        self.matches.append(path)


def _can_be_said(name: str) -> bool:
    """Whether a name is UTF-8: another name cannot be written in JSON, or requested."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
