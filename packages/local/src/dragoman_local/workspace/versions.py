"""Versions of files, and the version that each session has read.

A version is a token made from what a file holds, so that a file which was changed and changed back has the
version it had. Very large files get one from the system's record of their last change instead.
`KnownVersions` remembers, for one session, which version of each file its agent was last given; the file that
it then writes over should be the same one.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from typing import NamedTuple, Protocol

ABSENT = "absent"
"""The version of a missing file."""

MOST_FILES = 100_000
"""The most files that a session remembers."""

Version = str


class ContentHash(Protocol):
    """The part of a hash object that we use."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


def new_digest() -> ContentHash:
    return hashlib.blake2b(digest_size=16)


def version_by(digest: ContentHash) -> Version:
    return f"c{digest.hexdigest()}"


def version_of(data: bytes) -> Version:
    """Return a version computed from the content."""
    digest = new_digest()
    digest.update(data)
    return version_by(digest)


def version_by_record(status: os.stat_result) -> Version:
    """Return a version from the file's metadata: its identity, size and time of change."""
    fields = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return "r" + version_of(repr(fields).encode())[1:]


class KnownVersion(NamedTuple):
    """The version of one file that an agent has read."""

    version: Version
    base: str | None = None
    """The whole text, if it was kept."""


class KnownVersions:
    """The versions of files that the agent of one session knows, by their real paths. Any thread
    may use it.
    """

    def __init__(self, *, base_bytes: int, most_files: int = MOST_FILES) -> None:
        self._versions: OrderedDict[str, KnownVersion] = OrderedDict()
        self._base_bytes = base_bytes
        self._most_files = most_files
        self._held_bytes = 0
        self._lock = threading.Lock()
        self.has_forgotten = False
        """Whether files were forgotten because there were too many: then not knowing one proves nothing."""

    def get(self, path: str) -> KnownVersion | None:
        with self._lock:
            return self._versions.get(path)

    def set(self, path: str, version: Version, base: str | None = None) -> None:
        """Set the version that it knows now. The oldest texts are dropped when they become too large."""
        with self._lock:
            before = self._versions.pop(path, None)
            self._held_bytes -= _size(before)
            if base is None and before is not None and before.version == version:
                base = before.base
            known_version = KnownVersion(version, base)
            if _size(known_version) > self._base_bytes:
                known_version = KnownVersion(version)
            self._versions[path] = known_version
            self._held_bytes += _size(known_version)
            self._shrink()

    def _shrink(self) -> None:
        if len(self._versions) > self._most_files:
            _, oldest = self._versions.popitem(last=False)
            self._held_bytes -= _size(oldest)
            self.has_forgotten = True
        if self._held_bytes <= self._base_bytes:
            return
        for path, version in self._versions.items():
            if version.base is not None:
                self._versions[path] = KnownVersion(version.version)
                self._held_bytes -= _size(version)
            if self._held_bytes <= self._base_bytes:
                return


def _size(version: KnownVersion | None) -> int:
    """In bytes, about: Python keeps one to four for each character."""
    return 0 if version is None or version.base is None else len(version.base)
