"""Takes a snapshot of a folder: reads its files and keeps their contents in a store.

What has not changed by the system's record is not read again, nor in the next process if the store lasts. A
record that is younger than the look at it proves nothing, since clocks of file systems tick slowly; such a
file is read again.

In a git work tree git says what is ignored: such folders are not looked into. Nothing that the repository
configures is run, and nothing is written there. Of ignored files, and of those whose names say that they hold
secrets, a lasting store gets digests alone; their contents are kept as long as this process needs them.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator

from dragoman.system import git
from dragoman.system.git import GitPlaces, Isolation, read_names
from dragoman.system.git_process import GitFailed, GitTimeout, git_program, run_git
from dragoman_local.workspace.snapshot_entries import (
    LATE_CHANGE,
    MEBIBYTE,
    TICK,
    Capture,
    Deadline,
    OutOfTime,
    SnapshotEntry,
    SnapshotSettings,
    TurnStart,
    changed_at,
    content_at,
    content_digest,
    entry_by_date,
    kind_of,
)
from dragoman_local.workspace.tree_store import TreeStore

_NAMED = 5

_BETWEEN_CHECKS = 256
"""Files after which the deadline is looked at, in a folder of many."""

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

_MOST_REPOSITORIES = 50
"""Repositories within a folder that are asked what they ignore; others are not looked into."""

_MODEL_BYTES = 1024
"""A smaller file says little of what others are like."""

_BATCH = 4 * MEBIBYTE
"""Bytes that are put into the store at once."""

_RECORD = struct.Struct("=QQqqq")
"""Mode, inode, size, and the moments at which content and record were changed."""

_SECRET_NAME = re.compile(
    r"\.env(\..*)?|.*\.(env|pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfvars)|id_(rsa|dsa|ecdsa|ed25519)"
    r"|\.(npmrc|netrc|pypirc|pgpass|htpasswd|git-credentials)|credentials(\.json)?|secrets?\.(json|ya?ml|toml)",
    re.IGNORECASE,
)

GIT_FOLDER = frozenset({".git"})


def find_repository(root: str, seconds: float) -> GitPlaces:
    """Return the work tree of a folder; `GitFailed` if there is none."""
    # Nearly all that git would say to most folders, without a process. Where variables name the repository,
    # it is asked.
    names = root.split(os.sep)
    folders = (os.sep.join((*names[:count], ".git")) for count in range(len(names), 0, -1))
    if "GIT_DIR" not in os.environ and not any(map(os.path.lexists, folders)):
        raise GitFailed("not a git repository, nor is any folder around it")
    output = run_git(git.ask_repository(git_program(), git.LOCATE), cwd=root, seconds=seconds)
    places = git.read_places(output, root)
    if places is None:
        raise GitFailed("a path with a line break")
    if os.path.commonpath((places.top, root)) != places.top:
        raise GitFailed("its work tree is elsewhere")
    return places


def is_secret_name(path: str) -> bool:
    """Whether files of this name usually contain secrets."""
    return _SECRET_NAME.fullmatch(path.rpartition("/")[2]) is not None


class PlainFolder:
    """One root folder."""

    def __init__(
        self,
        root: str,
        store: TreeStore,
        settings: SnapshotSettings,
        stop: threading.Event,
    ) -> None:
        self.root = root
        self.kept_bytes = 0
        self._stop = stop
        self._store = store
        self._private = TreeStore() if store.is_lasting else store
        self._settings = settings
        self._read: dict[str, tuple[bytes, SnapshotEntry]] = {}
        """By path: the system's record, and what it stood for."""
        self._pending: dict[bool, dict[str, tuple[bytes, str | None]]] = {False: {}, True: {}}
        """Contents that are not in their store yet: private ones, and others."""
        self._pending_bytes = 0
        self._stored_digests: set[str] = set()
        self._models: dict[str, str | None] = {}
        self._last_paths: list[str] = []
        """What the last look found."""
        self._own_paths = store.own_paths(root)
        self._repositories: dict[str, GitPlaces] = {}
        """By folder, that of the root and those within it."""
        try:
            self._repositories[""] = find_repository(root, settings.seconds)
        except (GitFailed, GitTimeout):
            pass
        if store.is_lasting:
            for path, (entry, record, is_kept) in store.files(root).items():
                if record is not None:
                    self._read[path] = (record, entry)
                if is_kept:
                    self._stored_digests.add(entry.digest)

    def close(self) -> None:
        self._private.close()

    def capture(self, *, keep: bool, start: TurnStart | None = None) -> Capture:
        """Return the current state of the folder; with `keep`, its contents are stored. Files that may have
        changed since `start` are listed separately: their earlier content is unknown.
        """
        if start is not None:
            start.is_heeded = True
        capture = Capture(began_at=time.time())
        deadline = Deadline(self._settings.seconds, self._stop)
        walk = _Walk(self.root, self._settings, deadline, start, capture, self._own_paths)
        try:
            if "" in self._repositories:
                walk.heed(self._ignored_below)
            for path, name, folder, status in walk.files():
                if len(capture.entries) >= self._settings.most_files:
                    raise OutOfTime
                record = _record(status)
                entry = self._known_entry(path, record, keep=keep)
                if entry is None:
                    is_private = path in walk.ignored_files or is_secret_name(path)
                    entry = self._read_entry(path, name, folder, status, is_kept=keep, is_private=is_private)
                    status = _status_after(name, folder, status)
                    capture.changed_at[path] = changed_at(status)
                if entry is None:
                    continue
                if walk.is_late(status):
                    capture.unknown.add(path)
                    continue
                capture.entries[path] = entry
                if start is not None:
                    start.file_count += 1
        except OutOfTime:
            capture.is_complete = False
            capture.notes.append(f"{self.root}: too much to look at; only {len(capture.entries)} files were")
        self._flush()
        self._finish(capture, walk)
        return capture

    def _finish(self, capture: Capture, walk: _Walk) -> None:
        """The results of a whole walk."""
        entries = capture.entries
        for path, (record, entry) in self._read.items():
            if entries.get(path) is entry:
                capture.records[path] = record
        for path in self._last_paths:
            if path not in entries and path[: path.rfind("/") + 1] in capture.unknown_folders:
                capture.unknown.add(path)  # it was there, and may have been when the turn began
        self._last_paths = list(entries)
        capture.private = walk.ignored_files
        by_date = [path for path, entry in entries.items() if not entry.is_kept]
        ignored = "ignored by git, not looked into" if walk.is_git else "not looked into"
        for what, names in (
            (LATE_CHANGE, capture.unknown),
            ("too large to be kept, compared by date", by_date),
            (ignored, walk.ignored_folders),
            ("submodules and repositories of their own, not looked into", walk.repositories),
            ("not ours to look into", walk.unreadable_folders),
        ):
            capture.notes += _list_in_note(self.root, what, sorted(names))

    def content(self, entry: SnapshotEntry) -> bytes:
        """Return the stored content with this digest; FileNotFoundError if there is none."""
        try:
            return self._private.content(entry.digest)
        except FileNotFoundError:
            return self._store.content(entry.digest)

    def _ignored_below(self, below: str, deadline: Deadline) -> list[str] | None:
        """Ignored paths of the git repository that begin in a folder; folders have a slash at their ends.
        None if there are too many repositories, or git does not know this one.
        """
        folder = os.path.join(self.root, below)
        if below not in self._repositories:
            if len(self._repositories) > _MOST_REPOSITORIES:
                return None
            try:
                self._repositories[below] = find_repository(folder, deadline.seconds_left)
            except (GitFailed, GitTimeout):
                return None
        repository = self._repositories[below]
        words = ("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", "--", ".")
        settings = (f"core.excludesFile={os.devnull}", "core.untrackedCache=false")
        try:
            with Isolation(git_program(), repository, settings=settings) as isolation:
                output = run_git(isolation.command(*words), cwd=folder, seconds=deadline.seconds_left)
        except GitTimeout:
            raise OutOfTime from None
        except (GitFailed, OSError):
            return None
        return [below + name for name in read_names(output)]

    def _known_entry(self, path: str, record: bytes, *, keep: bool) -> SnapshotEntry | None:
        """Its earlier entry, if it is unchanged."""
        before = self._read.get(path)
        if before is not None and before[0] == record:
            entry = before[1]
            return entry if not (keep and entry.is_kept) or entry.digest in self._stored_digests else None
        return None

    def _read_entry(
        self, path: str, name: str, folder: int, status: os.stat_result, *, is_kept: bool, is_private: bool
    ) -> SnapshotEntry | None:
        """The present file; None if it is nothing that has a content."""
        kind = kind_of(status)
        if kind is None:
            return None
        by_date = entry_by_date(status, kind)
        if status.st_size > self._settings.file_bytes or (
            is_kept and self.kept_bytes + status.st_size > self._settings.total_bytes
        ):
            self._read[path] = (_record(status), by_date)
            return by_date
        start_ns = time.time_ns()
        try:
            data = content_at(name, folder=folder)
        except OSError:  # not ours to read, or gone
            return by_date
        entry = SnapshotEntry(kind, content_digest(data), len(data), stat.S_IMODE(status.st_mode))
        if is_kept and entry.digest not in self._stored_digests:
            self._keep(path, entry.digest, data, is_private=is_private)
        if changed_at(status) < start_ns - TICK:
            self._read[path] = (_record(status), entry)
        return entry

    def _model(self, path: str) -> str | None:
        """A content that a new file may be like: any of the same kind. Small files cost half of it then."""
        suffix = os.path.splitext(path)[1]
        if suffix not in self._models:
            same = (entry.digest for name, (_, entry) in self._read.items() if name.endswith(suffix))
            self._models[suffix] = next((digest for digest in same if digest in self._stored_digests), None)
        return self._models[suffix]

    def _keep(self, path: str, digest: str, data: bytes, *, is_private: bool) -> None:
        before = self._read.get(path)
        base = before[1].digest if before is not None and before[1].is_kept else self._model(path)
        self._pending[is_private][digest] = (data, base)
        self._stored_digests.add(digest)
        if not is_private and len(data) > _MODEL_BYTES and self._model(path) is None:
            self._models[os.path.splitext(path)[1]] = digest
        self.kept_bytes += len(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > _BATCH:
            self._flush()

    def _flush(self) -> None:
        for is_private, store in ((False, self._store), (True, self._private)):
            if self._pending[is_private]:
                store.keep(self._pending[is_private])
                self._pending[is_private] = {}
        self._pending_bytes = 0


class _Walk:
    """One walk through a root, by descriptors. No link is followed."""

    def __init__(
        self,
        root: str,
        settings: SnapshotSettings,
        deadline: Deadline,
        start: TurnStart | None,
        capture: Capture,
        own_paths: frozenset[str],
    ) -> None:
        self.ignored_folders: set[str] = set()
        self.unreadable_folders: list[str] = []
        """Folders that are not ours to look into."""
        self.ignored_files: set[str] = set()
        """Of a git work tree, by path."""
        self.repositories: list[str] = []
        self._root = root
        self._ignore = settings.ignore
        self._own_paths = own_paths
        self.is_git = False
        self._ask: Callable[[str, Deadline], list[str] | None] | None = None
        self._ignored_paths: set[str] = set()
        self._deadline = deadline
        self._start = start
        self._unknown_folders = capture.unknown_folders

    def heed(self, ask: Callable[[str, Deadline], list[str] | None]) -> None:
        """In a git work tree, what its repository ignores is not looked into, nor what one within it does."""
        self._ask = ask
        self.is_git = self._heed_below("")
        self._ignore = GIT_FOLDER if self.is_git else self._ignore

    def _heed_below(self, below: str) -> bool:
        """Whether the repository that begins in this folder could be asked."""
        assert self._ask is not None
        ignored_paths = self._ask(below, self._deadline)
        for name in ignored_paths or ():
            (self._ignored_paths if name.endswith("/") else self.ignored_files).add(name)
        return ignored_paths is not None

    def files(self) -> Iterator[tuple[str, str, int, os.stat_result]]:
        """Everything that is not a folder: its path, its name, the open folder that it is in, its record."""
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
                        elif below + name not in self._own_paths:
                            name.encode()
                            yield below + name, name, folder, item.stat(follow_symlinks=False)
                    except (OSError, UnicodeEncodeError):  # gone since, or a name that nobody could be told
                        continue
            if self.is_late(os.fstat(folder)):
                self._unknown_folders.add(below)
            if not self.is_git:
                self.ignored_folders |= self._ignore.intersection(folders)
            for name in sorted(folders):
                if f"{below}{name}/" in self._ignored_paths:
                    self.ignored_folders.add(f"{below}{name}/")
                elif name not in self._ignore and below + name not in self._own_paths:
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
            if self.is_git and _has_git(inner) and not self._heed_below(f"{below}{name}/"):
                os.close(inner)
                self.repositories.append(f"{below}{name}/")
            else:
                yield from self._files(f"{below}{name}/", inner)


def _has_git(folder: int) -> bool:
    try:
        os.stat(".git", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _record(status: os.stat_result) -> bytes:
    return _RECORD.pack(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _status_after(name: str, folder: int, before: os.stat_result) -> os.stat_result:
    """The record of a file after reading it, because another program may have written to it meanwhile."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # gone since
        return before


def _list_in_note(root: str, what: str, names: list[str]) -> list[str]:
    """A note about some names, with the first of them."""
    if not names:
        return []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return [f"{root}: {what}: {', '.join(names[:_NAMED])}{more}"]
