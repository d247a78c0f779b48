"""The record of a file in a snapshot: its kind and its contents, or at least its time of change.

A file whose content is not kept has the system's record of it instead of a digest: that tells that it
changed, not how.

Everything is looked at by descriptors from a root downwards, and no link is followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

MEBIBYTE = 1024 * 1024

Kind: TypeAlias = Literal["file", "program", "link"]

IGNORED = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache"}
    | {".ruff_cache", ".tox", ".nox", ".gradle", ".next", ".terraform", ".direnv"}
)
"""Folders of tools, large and generated. Outside of git work trees there is no better criterion."""


class SnapshotSettings(Struct, frozen=True, kw_only=True):
    """The limits of a snapshot; everything outside of them is noted."""

    file_bytes: int = 8 * MEBIBYTE
    """Larger files are not stored: they are compared by date, and can't be shown or restored."""

    total_bytes: int = 512 * MEBIBYTE
    """The most bytes to store, of all files together."""

    most_files: int = 200_000
    seconds: float = 10.0
    """The most seconds for one root."""

    diff_bytes: int = 32 * MEBIBYTE
    """The most bytes of all diffs together; further ones are named, not shown."""

    ignore: frozenset[str] = IGNORED
    """Names of folders to skip, if no git says what is ignored."""


DEFAULT_SNAPSHOT = SnapshotSettings()


TICK = 50_000_000
"""The nanoseconds within which two changes may have the same date."""

LATE_CHANGE = "changed as the turn began, so their earlier content is unknown"


class SnapshotEntry(NamedTuple):
    """One file, program or link."""

    kind: Kind
    digest: str
    size: int
    mode: int | None = None
    """Its permissions; None if unknown."""

    @property
    def is_kept(self) -> bool:
        """Whether its content is known, not only its date."""
        return not self.digest.startswith(_RECORD)


def has_other_mode(old: SnapshotEntry, new: SnapshotEntry) -> bool:
    """Whether its permissions have changed; a link's own mode means nothing."""
    return "link" not in (old.kind, new.kind) and None not in (old.mode, new.mode) and old.mode != new.mode


_RECORD = "record "


class Capture(Struct):
    """The entries below a root, by relative path."""

    entries: dict[str, SnapshotEntry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    is_complete: bool = True
    unknown: set[str] = field(default_factory=set)
    """Existing files that may have changed before they were read."""
    unknown_folders: set[str] = field(default_factory=set)
    """Folders whose other contents are unknown, as paths that end with a slash; "" is the root."""
    records: dict[str, bytes] = field(default_factory=dict)
    """The system's records of files that need not be read again while they are equal."""
    changed_at: dict[str, int] = field(default_factory=dict)
    """The times of change of the read files, in nanoseconds since 1970."""
    private: set[str] = field(default_factory=set)
    """Files that git ignores."""
    began_at: float = 0.0
    look: int | None = None
    """The number of the snapshot in its store."""

    def has_missed(self, path: str) -> bool:
        """Whether the file's earlier existence and content are unknown."""
        if path in self.entries:
            return False
        folder = path[: path.rfind("/") + 1]
        return not self.is_complete or path in self.unknown or folder in self.unknown_folders


class TurnStart:
    """The start of a turn, or the first of several, during a snapshot of its folder."""

    def __init__(self) -> None:
        self.moment: int | None = None
        """Nanoseconds since 1970. From then on, what is found to have changed may be the agent's work."""
        self.is_heeded = False
        """Whether a look is under way that tells apart what changed since."""
        self.file_count = 0
        """Files that the look has met so far, or knows of."""

    def begin(self) -> None:
        if self.moment is None:
            self.moment = time.time_ns()

    def is_before(self, status: os.stat_result) -> bool:
        """Whether the turn had begun before a change, as far as its record shows."""
        return self.moment is not None and changed_at(status) >= self.moment - TICK


class OutOfTime(Exception):
    """A time limit was reached."""


class Deadline:
    """The remaining seconds; none after a stop."""

    def __init__(self, seconds: float, stop: threading.Event) -> None:
        self._end = time.monotonic() + seconds
        self._stop = stop

    @property
    def seconds_left(self) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0 or self._stop.is_set():
            raise OutOfTime
        return seconds


def content_digest(data: bytes) -> str:
    """Return the digest of a content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def changed_at(status: os.stat_result) -> int:
    """Return when content or metadata were changed, in nanoseconds since 1970."""
    return max(status.st_mtime_ns, status.st_ctime_ns)


def kind_of(status: os.stat_result) -> Kind | None:
    """Return the kind of a file; None without content of its own: folders, devices, sockets."""
    if stat.S_ISLNK(status.st_mode):
        return "link"
    if not stat.S_ISREG(status.st_mode):
        return None
    return "program" if status.st_mode & stat.S_IXUSR else "file"


def entry_by_date(status: os.stat_result, kind: Kind) -> SnapshotEntry:
    """Return an entry from the system's record alone."""
    record = f"{_RECORD}{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
    return SnapshotEntry(kind, record, status.st_size, stat.S_IMODE(status.st_mode))


def content_at(name: str, *, folder: int) -> bytes:
    """Return the contents of a file or link in an open folder."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(name, dir_fd=folder))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "no file")
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with open(fd, "rb") as file:
        data: bytes | None = file.read()
    if data is None:  # a file of the kernel's, such as /proc/kmsg, in which there is nothing to read yet
        raise OSError(errno.EAGAIN, "it has no content now")
    return data


def open_parent(root: str, path: str, *, make: bool = False) -> int:
    """Open the folder of a relative path, from the root without following a link.

    NotADirectoryError or ELOOP if something on the way is not a folder any more.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in path.split("/")[:-1]:
        try:
            if make:
                try:
                    os.mkdir(name, dir_fd=fd)
                except FileExistsError:
                    pass
            below = os.open(name, flags, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def look(root: str, path: str, *, like: SnapshotEntry | None) -> SnapshotEntry | None:
    """Return the current entry of a path, in the same form as `like`."""
    try:
        folder = open_parent(root, path)
    except OSError:  # a folder on the way is gone, or is a link: there is no file there that we would know
        return None
    name = path.rpartition("/")[2]
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        kind = kind_of(status)
        if kind is None:
            raise OSError(errno.EEXIST, "something that is not a file is there now")
        if like is not None and not like.is_kept:
            return entry_by_date(status, kind)
        digest = content_digest(content_at(name, folder=folder))
        return SnapshotEntry(kind, digest, status.st_size, stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        return None
    finally:
        os.close(folder)
