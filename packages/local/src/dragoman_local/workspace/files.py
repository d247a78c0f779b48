"""The file operations of one session, as blocking functions: read, write, stat, range, search.

Every path goes through the session's roots, every text through the settings, and every answer is remembered,
so that a write can be held against what the agent was told. It does not know the protocol, editors or people:
`lending` adds those.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.atomic_write import FileAppeared, create, replace
from dragoman_local.workspace.file_read import FileContents, RangeRead, read_contents, read_range, read_text
from dragoman_local.workspace.paths import parse
from dragoman_local.workspace.places import FilePlace, check_regular
from dragoman_local.workspace.refusals import (
    CONFLICT,
    INVALID_PARAMS,
    path_changed,
    path_missing,
    reason_of,
    refusal,
    too_large,
)
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.search import SearchMatches, search
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.text import UTF_8, with_endings_of
from dragoman_local.workspace.versions import ABSENT, KnownVersions, Version, version_by_record, version_of
from dragoman_local.workspace.write_conflicts import WriteClash, WriteResult, base_of, kind_of_clash

_TRIES = 20
"""How often a file may appear just as we make it before we give up."""


class FileText(NamedTuple):
    """Some lines of a file, and their version."""

    text: str
    version: Version


class FileStatus(NamedTuple):
    """The status of a path: whether it exists, its kind, size and time of change."""

    exists: bool
    is_folder: bool = False
    size: int = 0
    modified_at: float = 0.0
    """Seconds since 1970."""


class FileDraft(NamedTuple):
    """The text to write, and the version of the file that it may replace."""

    text: str
    accepted_version: Version | None = None
    """The version that may be overwritten, although the agent does not know it."""
    known_as: str | None = None
    """The text that the agent will take for the file's, if different: it does not know a merged text."""


class SessionFiles:
    """The files that a session may use. A writer holds `writing`; sessions that share files share it."""

    def __init__(
        self, roots: Roots, settings: FileSettings, *, known_versions: KnownVersions, writing: threading.Lock
    ) -> None:
        self.roots = roots
        self.settings = settings
        self.known_versions = known_versions
        self._writing = writing

    def locate(self, path: str, *, may_be_folder: bool = False) -> str:
        """Return the place of a file, even if it does not exist, with links resolved."""
        return self.roots.locate(path, may_be_folder=may_be_folder)

    def read(self, path: str, *, first: int = 1, limit: int | None = None, at: str | None = None) -> FileText:
        """Read a file; `at` is the result of `locate`: if the path leads elsewhere by now, the approval does
        not count.
        """
        try:
            with self._open_file(path, at) as (place, fd):
                keep = self.settings.keeps_base
                read = read_text(fd, self.settings, first=first, limit=limit, keep_whole=keep)
                self.known_versions.set(place.path, read.version, read.whole)
                return FileText(read.text, read.version)
        except ErrorAnswer as error:
            if reason_of(error) != "missing" or self.settings.missing != "empty":
                raise
            return FileText("", ABSENT)

    def read_range(
        self,
        path: str,
        *,
        offset: int = 0,
        limit: int | None = None,
        if_version: Version | None = None,
        at: str | None = None,
    ) -> RangeRead:
        """Return bytes. With `if_version`, only if the file still has it, so that pages fit together."""
        most = self.settings.read_bytes
        with self._open_file(path, at) as (place, fd):
            byte_count = most if limit is None else min(limit, most)
            read = read_range(fd, self.settings, offset=offset, limit=byte_count)
            if if_version is not None and if_version != read.version:
                why = "the file has another version now"
                raise refusal(CONFLICT, "changed_since_read", why, version=read.version)
            self.known_versions.set(place.path, read.version)
            return read

    def stat(self, path: str, *, at: str | None = None) -> FileStatus:
        try:
            with self.roots.place(path, may_be_folder=True) as place:
                _check_at(place, at)
                status = place.status()
                if status is None:
                    raise path_missing()
        except ErrorAnswer as error:
            if reason_of(error) != "missing":
                raise
            self._tell_missing(path)
            return FileStatus(exists=False)
        if stat.S_ISDIR(status.st_mode):
            return FileStatus(exists=True, is_folder=True, modified_at=status.st_mtime)
        check_regular(status.st_mode)
        if parse(path).is_folder:
            raise refusal(INVALID_PARAMS, "not_a_folder", "the path names a file, not a folder")
        return FileStatus(exists=True, size=status.st_size, modified_at=status.st_mtime)

    def search(self, pattern: str, *, hidden: bool = False, limit: int | None = None) -> SearchMatches:
        """Return files with matching paths; see `search`."""
        return search(self.roots, self.settings, pattern, hidden=hidden, limit=limit)

    def write(self, path: str, draft: FileDraft, *, at: str | None = None) -> WriteResult | WriteClash:
        """Write a file, or return the obstacle."""
        if len(draft.text) > self.settings.write_bytes:  # in bytes it is no shorter
            raise _too_long()
        with self._writing:
            try:
                with self.roots.place(path) as place:
                    return self._write_at(place, draft, at)
            except ErrorAnswer as error:
                if reason_of(error) != "missing":
                    raise
            # Its folder is missing. No folder is made for a write that is going to be refused.
            clash = self._clash(self.roots.locate(path), None, draft)
            if clash is not None:
                return clash
            with self.roots.place(path, make_folders=True) as place:
                return self._write_at(place, draft, at)

    def _write_at(self, place: FilePlace, draft: FileDraft, at: str | None) -> WriteResult | WriteClash:
        _check_at(place, at)
        for _ in range(_TRIES):
            old = self._contents(place)
            data, text = self._encode_like(draft.text, old)
            clash = self._clash(place.path, old, draft)
            if clash is not None and clash.version != version_of(data):  # the same text harms nobody
                return clash
            try:
                if old is None:
                    create(place, data, fsync=self.settings.fsync)
                else:
                    replace(place, data, old=old.status, fsync=self.settings.fsync)
            except FileAppeared:
                continue
            version = self._version_written(place, data)
            if draft.known_as is None:
                self._tell_text(place.path, version, text)
            else:
                known_data, text = self._encode_like(draft.known_as, old)
                self._tell_text(place.path, version_of(known_data), text)
            return WriteResult(place.path, version, is_created=old is None)
        raise path_changed()

    def _contents(self, place: FilePlace) -> FileContents | None:
        if place.file_status() is None:
            return None
        fd = place.open_file(writable=True)
        try:
            return read_contents(fd, self.settings)
        finally:
            os.close(fd)

    def _clash(self, path: str, old: FileContents | None, draft: FileDraft) -> WriteClash | None:
        now = ABSENT if old is None else old.version
        if now == draft.accepted_version:
            return None
        known_version = self.known_versions.get(path)
        kind = kind_of_clash(
            known_version, now, strict=self.settings.strict, has_forgotten=self.known_versions.has_forgotten
        )
        if kind is None:
            return None
        return WriteClash(kind, path, now, base_of(known_version), None if old is None else old.text)

    def _encode_like(self, text: str, old: FileContents | None) -> tuple[bytes, str]:
        """The bytes of a text, in the form of the file that it replaces; and that text."""
        encoding = UTF_8
        if old is not None and self.settings.form == "keep":
            encoding = old.encoding
            text = text if old.text is None else with_endings_of(old.text, text)
        data = encoding.encode(text)
        if len(data) > self.settings.write_bytes:
            raise _too_long()
        return data, text

    def _version_written(self, place: FilePlace, data: bytes) -> Version:
        """The version of a written file, as the next read will compute it."""
        if len(data) > self.settings.hash_bytes and (status := place.status()) is not None:
            return version_by_record(status)
        return version_of(data)

    def _tell_text(self, path: str, version: Version, text: str) -> None:
        self.known_versions.set(path, version, text if self.settings.keeps_base else None)

    @contextmanager
    def _open_file(self, path: str, at: str | None) -> Iterator[tuple[FilePlace, int]]:
        """Open a file. If it is missing, the agent knows that from now on."""
        try:
            with self.roots.place(path) as place:
                _check_at(place, at)
                fd = place.open_file()
                try:
                    yield place, fd
                finally:
                    os.close(fd)
        except ErrorAnswer as error:
            if reason_of(error) == "missing":
                self._tell_missing(path)
            raise

    def _tell_missing(self, path: str) -> None:
        """Remember that the agent knows that there is no such file."""
        try:
            self.known_versions.set(self.roots.locate(path, may_be_folder=True), ABSENT)
        except ErrorAnswer:  # nor could there be one: `..` behind a missing folder
            return


def _check_at(place: FilePlace, at: str | None) -> None:
    if at is not None and place.path != at:
        raise path_changed()


def _too_long() -> ErrorAnswer:
    return too_large("the text is longer than what is written at once")
