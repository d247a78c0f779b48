"""A folder that git does not know: walked, read, and kept in a store by content.

What has not changed by the system's record is not read again. A record that is younger than the look at it
proves nothing, since clocks of file systems tick slowly; such a file is read again.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from dragoman_local.workspace.snapshot_entries import (
    LATE_CHANGE,
    TICK,
    Capture,
    Deadline,
    OutOfTime,
    SnapshotEntry,
    SnapshotSettings,
    TurnStart,
    blob_digest,
    changed_at,
    content_at,
    entry_by_date,
    kind_of,
)
from dragoman_local.workspace.store import BASE

_NAMED = 5

_BETWEEN_CHECKS = 256
"""Files after which the deadline is looked at, in a folder of many."""

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

_Record: TypeAlias = tuple[int, int, int, int, int]
"""Mode, inode, size, and the moments at which content and record were changed."""


class PlainFolder:
    """One root without git."""

    algorithm = "sha256"

    def __init__(
        self,
        root: str,
        make_store: Callable[[], Path],
        settings: SnapshotSettings,
        stop: threading.Event,
    ) -> None:
        """`make_store` makes the folder for contents, which is called when there is one to be kept."""
        self.root = root
        self._stop = stop
        self._make_store = make_store
        self._store: Path | None = None
        self._settings = settings
        self._read: dict[str, tuple[_Record, SnapshotEntry]] = {}
        """By path: the system's record, and what it stood for."""
        self.kept_bytes = 0
        self._stored_digests: set[str] = set()  # digests of what is in the store

    def capture(self, *, keep: bool, start: TurnStart | None = None) -> Capture:
        """What is there now; with `keep`, its contents are kept. What may have changed since `start` is told
        apart: it is no longer what was there before.
        """
        if start is not None:
            start.is_heeded = True
        capture = Capture()
        by_date: list[str] = []
        walk = _Walk(self.root, self._settings, Deadline(self._settings.seconds, self._stop), start, capture)
        try:
            for path, name, folder, status in walk.files():
                if len(capture.entries) >= self._settings.most_files:
                    raise OutOfTime
                record = _record(status)
                entry = self._known_entry(path, record, keep=keep)
                if entry is None:
                    entry = self._read_entry(path, name, folder, status, keep=keep)
                    status = _status_after(name, folder, status)
                if entry is None:
                    continue
                if walk.is_late(status):
                    capture.unknown.add(path)
                    continue
                capture.entries[path] = entry
                if start is not None:
                    start.file_count += 1
                if not entry.is_kept:
                    by_date.append(path)
        except OutOfTime:
            capture.is_complete = False
            capture.notes.append(f"{self.root}: too much to look at; only {len(capture.entries)} files were")
        capture.notes += list_in_note(self.root, LATE_CHANGE, sorted(capture.unknown))
        capture.notes += list_in_note(self.root, "too large to be kept, compared by date", by_date)
        capture.notes += list_in_note(self.root, "not looked into", sorted(walk.ignored_folders))
        capture.notes += list_in_note(self.root, "not ours to look into", sorted(walk.unreadable_folders))
        return capture

    def content(self, entry: SnapshotEntry) -> bytes:
        """What was kept under this digest; FileNotFoundError if nothing was."""
        if self._store is None:
            raise FileNotFoundError(entry.digest)
        return (self._store / entry.digest).read_bytes()

    def _known_entry(self, path: str, record: _Record, *, keep: bool) -> SnapshotEntry | None:
        """What it was found to be earlier, if it is as it was then."""
        before = self._read.get(path)
        if before is not None and before[0] == record and (not keep or self._has(before[1])):
            return before[1]
        return None

    def _read_entry(
        self, path: str, name: str, folder: int, status: os.stat_result, *, keep: bool
    ) -> SnapshotEntry | None:
        """What is there; None if it is nothing that has a content."""
        kind = kind_of(status)
        if kind is None:
            return None
        by_date = entry_by_date(status, kind)
        if status.st_size > self._settings.file_bytes or (
            keep and self.kept_bytes + status.st_size > self._settings.total_bytes
        ):
            self._read[path] = (_record(status), by_date)
            return by_date
        start_ns = time.time_ns()
        try:
            data = content_at(name, folder=folder)
        except OSError:  # not ours to read, or gone
            return by_date
        mode = stat.S_IMODE(status.st_mode)
        entry = SnapshotEntry(kind, blob_digest(data, self.algorithm), len(data), mode)
        if keep:
            self._keep(entry, data)
        if changed_at(status) < start_ns - TICK:
            self._read[path] = (_record(status), entry)
        return entry

    def _has(self, entry: SnapshotEntry) -> bool:
        """Whether all that can be kept of it is."""
        return not entry.is_kept or entry.digest in self._stored_digests

    def _keep(self, entry: SnapshotEntry, data: bytes) -> None:
        if entry.digest not in self._stored_digests:
            if self._store is None:
                self._store = self._make_store()
            (self._store / entry.digest).write_bytes(data)
            self._stored_digests.add(entry.digest)
            self.kept_bytes += len(data)


class _Walk:
    """One walk through a root, by descriptors. No link is followed."""

    def __init__(
        self,
        root: str,
        settings: SnapshotSettings,
        deadline: Deadline,
        start: TurnStart | None,
        capture: Capture,
    ) -> None:
        self.ignored_folders: set[str] = set()
        self.unreadable_folders: list[str] = []
        """Folders that are not ours to look into."""
        self._root = root
        self._ignore = settings.ignore
        self._deadline = deadline
        self._start = start
        self._unknown_folders = capture.unknown_folders

    def files(self) -> Iterator[tuple[str, str, int, os.stat_result]]:
        """Everything that is no folder: its path, its name, the open folder that it is in, its record."""
        try:
            folder = os.open(self._root, _FOLDER)
        except OSError:
            return  # gone
        yield from self._files("", folder)

    def is_late(self, status: os.stat_result) -> bool:
        """Whether something was changed when the turn had begun."""
        return self._start is not None and self._start.is_before(status)

    def _files(self, below: str, folder: int) -> Iterator[tuple[str, str, int, os.stat_result]]:
        folders: list[str] = []
        try:
            with os.scandir(folder) as items:
                for number, item in enumerate(items):
                    if not number % _BETWEEN_CHECKS:
                        _ = self._deadline.seconds_left
                    name = item.name
                    try:
                        if item.is_dir(follow_symlinks=False):
                            folders.append(name)
                        elif name in self._ignore and item.is_dir():
                            self.ignored_folders.add(name)
                        else:
                            name.encode()
                            yield below + name, name, folder, item.stat(follow_symlinks=False)
                    except (OSError, UnicodeEncodeError):  # gone since, or a name that nobody could be told
                        continue
            if self.is_late(os.fstat(folder)):
                self._unknown_folders.add(below)
            self.ignored_folders |= self._ignore.intersection(folders)
            for name in sorted(folders):
                if name not in self._ignore and not name.startswith(BASE):
                    yield from self._inner_files(below, name, folder)
        finally:
            os.close(folder)

    def _inner_files(
        self, below: str, name: str, folder: int
    ) -> Iterator[tuple[str, str, int, os.stat_result]]:
        try:
            inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        except PermissionError:
            self.unreadable_folders.append(os.path.join(self._root, below + name))
        except OSError:  # it is gone, or no folder any more
            pass
        else:
            yield from self._files(f"{below}{name}/", inner)


def _record(status: os.stat_result) -> _Record:
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _status_after(name: str, folder: int, before: os.stat_result) -> os.stat_result:
    """The record of a file when it has been read: somebody may have written to it meanwhile."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # gone since
        return before


def list_in_note(root: str, what: str, names: list[str]) -> list[str]:
    """A note about some names, the first of which it tells."""
    if not names:
        return []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return [f"{root}: {what}: {', '.join(names[:_NAMED])}{more}"]
