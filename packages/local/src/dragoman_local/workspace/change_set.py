"""The files that a turn has changed on disk, and how to undo the changes.

A change has a diff where both sides are text and known. `revert` puts back what was there before; it refuses
if the file is not as the comparison found it, because then somebody has worked on it since. A file is put
back by descriptors from its root, never through a link, and in one step. Folders are not compared: one that
is empty once an added file is gone goes with it, as git does it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman_local.workspace.diffs import Diff, quote_name, unified_diff, without_hunks
from dragoman_local.workspace.snapshot_entries import (
    SnapshotEntry,
    content_at,
    has_other_mode,
    look,
    open_parent,
)


class FileChange(Struct, frozen=True, kw_only=True):
    """One changed file."""

    path: str
    kind: Literal["added", "modified", "removed"]
    diff: str | None = None
    """A unified diff; None if the file is binary, or too large to show."""
    binary: bool = False
    lines_added: int = 0
    lines_removed: int = 0


class ContentSource(Protocol):
    """The source of earlier contents."""

    root: str

    def content(self, entry: SnapshotEntry) -> bytes: ...


class PathDifference(NamedTuple):
    """A difference and its path."""

    source: ContentSource
    path: str
    """The path relative to the source's root."""
    before: SnapshotEntry | None
    after: SnapshotEntry | None
    is_past: bool = False
    """Whether the later content is also stored, and may differ from the disk."""

    @property
    def full_path(self) -> str:
        return os.path.join(self.source.root, self.path)


class RevertRefused(LocalMistake):
    """A file was not reverted; the text gives the reason."""


class TurnChangeSet:
    """All changes of a turn, by path."""

    def __init__(
        self, files: Sequence[FileChange], notes: Sequence[str], differences: Mapping[str, PathDifference]
    ) -> None:
        self.files = files
        self.notes = notes
        """What was not covered, for people."""
        self._changes = dict(differences)

    @property
    def diff(self) -> str:
        """Return all changes that can be shown, as one patch."""
        return "".join(change.diff or "" for change in self.files)

    async def revert(self, path: str) -> None:
        """Revert one file. `RevertRefused` if that would lose other work, or is impossible."""
        change = self._changes.get(path)
        if change is None:
            raise RevertRefused(f"{path!r} is not among the changes, or was put back already")
        await asyncio.to_thread(_revert, change)
        del self._changes[path]

    async def revert_hunks(self, path: str, hunks: Collection[int]) -> None:
        """Revert some hunks of a file's diff, by their positions, and keep the others."""
        change = self._changes.get(path)
        if change is None or change.before is None or change.after is None:
            raise RevertRefused(f"{path!r} is not among the changed files, or is there only before or after")
        await asyncio.to_thread(_revert, change, frozenset(hunks))
        del self._changes[path]


def describe_change(difference: PathDifference, *, room: int) -> FileChange:
    """Describe a difference for people."""
    before, after = difference.before, difference.after
    kind: Literal["added", "modified", "removed"] = (
        "added" if before is None else "removed" if after is None else "modified"
    )
    diff = _diff(difference) if room > 0 else None
    if diff is not None and diff.text is not None and len(diff.text) > room:
        diff = diff._replace(text=None)
    if diff is None:
        return FileChange(path=difference.full_path, kind=kind)
    return FileChange(
        path=difference.full_path,
        kind=kind,
        diff=diff.text,
        binary=diff.is_binary,
        lines_added=diff.added_lines,
        lines_removed=diff.removed_lines,
    )


def _diff(difference: PathDifference) -> Diff | None:
    """None if one side is not known."""
    before, after = difference.before, difference.after
    if (before is not None and not before.is_kept) or (after is not None and not after.is_kept):
        return None
    try:
        old = None if before is None else difference.source.content(before)
        new = (
            None
            if after is None
            else difference.source.content(after)
            if difference.is_past
            else _current(difference)
        )
    except OSError:
        return None
    diff = unified_diff(difference.path, old, new)
    return diff if diff.text is None else diff._replace(text=_header(difference) + diff.text)


def _header(difference: PathDifference) -> str:
    """A line about what is not a line of a file: that it became a program, or a link."""
    before, after = difference.before, difference.after
    names = f"diff --git {quote_name('a/' + difference.path)} {quote_name('b/' + difference.path)}\n"
    if before is None and after is not None:
        return f"{names}new file mode {_MODES[after.kind]}\n"
    if after is None and before is not None:
        return f"{names}deleted file mode {_MODES[before.kind]}\n"
    if before is not None and after is not None and before.kind != after.kind:
        return f"{names}old mode {_MODES[before.kind]}\nnew mode {_MODES[after.kind]}\n"
    if before is not None and after is not None and has_other_mode(before, after):
        return f"{names}old mode 100{before.mode:o}\nnew mode 100{after.mode:o}\n"
    return names


_MODES = {"file": "100644", "program": "100755", "link": "120000"}


def _current(difference: PathDifference) -> bytes:
    folder = open_parent(difference.source.root, difference.path)
    try:
        return content_at(os.path.basename(difference.path), folder=folder)
    finally:
        os.close(folder)


def _revert(difference: PathDifference, hunks: Collection[int] | None = None) -> None:
    """Revert a file, or some hunks of it."""
    root, path, before = difference.source.root, difference.path, difference.before
    is_kept = before is None or before.is_kept
    if hunks is not None and (before is None or not is_kept or before.kind == "link"):
        raise RevertRefused(f"{difference.full_path!r} can only be put back as a whole, if at all")
    if not is_kept:
        raise RevertRefused(f"{difference.full_path!r} was too large to be kept")
    try:
        content = b"" if before is None else difference.source.content(before)
        current = b"" if hunks is None else _current(difference)
        if before is not None and difference.after is None:
            _remove_empty_folders(root, path)  # one that stands where the file was
        now = look(root, path, like=difference.after)
        if not _is_same(now, difference.after):
            raise RevertRefused(f"{difference.full_path!r} has changed again since the comparison")
        folder = open_parent(root, path, make=before is not None)
    except OSError as error:
        raise RevertRefused(
            f"{difference.full_path!r} cannot be put back: {error.strerror or error}"
        ) from error
    try:
        if hunks is None:
            put_entry(os.path.basename(path), folder, before, content)
        else:
            kept = without_hunks(content, current, hunks)
            put_entry(os.path.basename(path), folder, difference.after, kept)
    except OSError as error:
        raise RevertRefused(f"{difference.full_path!r} cannot be put back: {error.strerror}") from error
    finally:
        os.close(folder)
    if before is None:
        _remove_empty_folders(root, os.path.dirname(path))


def _remove_empty_folders(root: str, path: str) -> None:
    """The folder, and those that it is in, as far as nothing is in them."""
    while path:
        try:
            parent = open_parent(root, path)
            try:
                os.rmdir(os.path.basename(path), dir_fd=parent)
            finally:
                os.close(parent)
        except OSError:  # something is in it, or it is not a folder
            return
        path = os.path.dirname(path)


def in_revert_order(files: Iterable[FileChange]) -> list[FileChange]:
    """Put added files first: their folder may have replaced another file."""
    return sorted(files, key=lambda change: change.kind != "added")


def _is_same(now: SnapshotEntry | None, then: SnapshotEntry | None) -> bool:
    if now is None or then is None:
        return now is then
    return (now.kind, now.digest) == (then.kind, then.digest)


_TEMPORARY = (".dragoman-", ".tmp")


def is_temporary(path: str) -> bool:
    """Whether a file was left behind by a process that was killed during a revert."""
    name = os.path.basename(path)
    return name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1])


def put_entry(name: str, folder: int, before: SnapshotEntry | None, content: bytes) -> None:
    """Restore an entry in an open folder in one step; None removes it."""
    if before is None:
        os.unlink(name, dir_fd=folder)
        return
    temporary = f"{_TEMPORARY[0]}{secrets.token_hex(8)}{_TEMPORARY[1]}"
    try:
        if before.kind == "link":
            os.symlink(os.fsdecode(content), temporary, dir_fd=folder)
        else:
            _write(temporary, folder, content, mode=_mode(name, folder, before))
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        try:
            os.unlink(temporary, dir_fd=folder)
        except FileNotFoundError:
            pass
        raise


def _mode(name: str, folder: int, before: SnapshotEntry) -> int | None:
    """The mode that a file had, or else that of the file which is there now; None if nobody knows one."""
    if before.mode is not None:
        return before.mode
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):  # a link's own mode says nothing
        return None
    mode = status.st_mode & 0o777
    return mode | (mode & 0o444) >> 2 if before.kind == "program" else mode & ~0o111


def _write(name: str, folder: int, content: bytes, *, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # Nobody reads it who may not: it is private until it has its mode.
    fd = os.open(name, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    with open(fd, "wb") as file:
        if mode is not None:
            os.fchmod(fd, mode)
        file.write(content)
