"""A folder that git does not know: walked, read, and kept in a store by content.

What has not changed by the system's record is not read again. A record that is younger than the look at it
proves nothing, since clocks of file systems tick slowly; such a file is read again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from dragoman.workspace.snapshot_entries import (
    Capture,
    Deadline,
    OutOfTime,
    SnapshotEntry,
    SnapshotSettings,
    blob_digest,
    content_at,
    entry_by_date,
    kind_of,
)
from dragoman.workspace.store import BASE

_TICK = 50_000_000
"""Nanoseconds within which two changes may bear the same date."""

_NAMED = 5


class PlainFolder:
    """One root without git."""

    algorithm = "sha256"

    def __init__(self, root: str, store: Path, settings: SnapshotSettings, stop: threading.Event) -> None:
        self.root = root
        self._stop = stop
        self._store = store
        self._settings = settings
        self._read: dict[
            str, tuple[SnapshotEntry, SnapshotEntry]
        ] = {}  # by path: the record, and what it stood for
        self.kept_bytes = 0
        self._stored_digests: set[str] = set()  # digests of what is in the store

    def capture(self, *, keep: bool) -> Capture:
        """What is there now; with `keep`, its contents are kept."""
        capture = Capture()
        by_date: list[str] = []
        ignored_folders: set[str] = set()
        unreadable_folders: list[str] = []
        deadline = Deadline(self._settings.seconds, self._stop)
        try:
            for path, name, folder, status in self._walk(ignored_folders, unreadable_folders, deadline):
                kind = kind_of(status)
                if kind is None:
                    continue
                if len(capture.entries) >= self._settings.most_files:
                    raise OutOfTime
                capture.entries[path] = entry = self._entry(
                    path, name, folder, entry_by_date(status, kind), keep=keep
                )
                if not entry.is_kept:
                    by_date.append(path)
        except OutOfTime:
            capture.is_complete = False
            capture.notes.append(f"{self.root}: too much to look at; only {len(capture.entries)} files were")
        capture.notes += list_in_note(self.root, "too large to be kept, compared by date", by_date)
        capture.notes += list_in_note(self.root, "not looked into", sorted(ignored_folders))
        capture.notes += list_in_note(self.root, "not ours to look into", sorted(unreadable_folders))
        return capture

    def content(self, entry: SnapshotEntry) -> bytes:
        """What was kept under this digest; FileNotFoundError if nothing was."""
        return (self._store / entry.digest).read_bytes()

    def _walk(
        self, ignored_folders: set[str], unreadable_folders: list[str], deadline: Deadline
    ) -> Iterator[tuple[str, str, int, os.stat_result]]:
        def refuse(error: OSError) -> None:
            if isinstance(error, PermissionError):  # others are gone, or are no folders any more
                unreadable_folders.append(os.fsdecode(error.filename))

        for where, folders, names, fd in os.fwalk(self.root, onerror=refuse):
            _ = deadline.seconds_left
            ignored_folders |= self._settings.ignore & set(folders)
            folders[:] = sorted(name for name in folders if self._is_wanted(name))
            below = os.path.relpath(where, self.root)
            # A link to a folder counts as a folder there, and as a file here.
            for name in names + [name for name in folders if _is_link(name, fd)]:
                path = name if below == "." else f"{below}/{name}"
                _ = deadline.seconds_left
                try:
                    path.encode()
                    yield path, name, fd, os.stat(name, dir_fd=fd, follow_symlinks=False)
                except (OSError, UnicodeEncodeError):  # gone since, or a name that nobody could be told
                    continue

    def _is_wanted(self, name: str) -> bool:
        return name not in self._settings.ignore and not name.startswith(BASE)

    def _entry(
        self, path: str, name: str, folder: int, record: SnapshotEntry, *, keep: bool
    ) -> SnapshotEntry:
        before = self._read.get(path)
        if before is not None and before[0] == record and (not keep or self._has(before[1])):
            return before[1]
        if record.size > self._settings.file_bytes or (
            keep and self.kept_bytes + record.size > self._settings.total_bytes
        ):
            self._read[path] = (record, record)
            return record
        start_ns = time.time_ns()
        try:
            data = content_at(name, folder=folder)
        except OSError:  # not ours to read, or gone
            return record
        entry = SnapshotEntry(record.kind, blob_digest(data, self.algorithm), len(data))
        if keep:
            self._keep(entry, data)
        if _changed_at(record) < start_ns - _TICK:
            self._read[path] = (record, entry)
        return entry

    def _has(self, entry: SnapshotEntry) -> bool:
        """Whether all that can be kept of it is."""
        return not entry.is_kept or entry.digest in self._stored_digests

    def _keep(self, entry: SnapshotEntry, data: bytes) -> None:
        if entry.digest not in self._stored_digests:
            (self._store / entry.digest).write_bytes(data)
            self._stored_digests.add(entry.digest)
            self.kept_bytes += len(data)


def list_in_note(root: str, what: str, names: list[str]) -> list[str]:
    """A note about some names, the first of which it tells."""
    if not names:
        return []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return [f"{root}: {what}: {', '.join(names[:_NAMED])}{more}"]


def _is_link(name: str, fd: int) -> bool:
    try:
        return kind_of(os.stat(name, dir_fd=fd, follow_symlinks=False)) == "link"
    except OSError:  # gone since
        return False


def _changed_at(record: SnapshotEntry) -> int:
    *_, modified_ns, changed_ns = record.digest.split()
    return max(int(modified_ns), int(changed_ns))
