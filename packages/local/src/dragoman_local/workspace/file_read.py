"""Reads from an open file: a window of lines, a range of bytes, or all of it, each with the file's version.

Everything streams: whatever the size of the file, memory is bounded by what is answered. Content and version
come from the same bytes, so a file that changes while it is read can make an answer strange, but never give
old content a new version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.refusals import NOT_TEXT, too_large
from dragoman_local.workspace.settings import KIBIBYTE, FileSettings
from dragoman_local.workspace.text import LATIN_1, UTF_8, Encoding, LineWindow, TextReader, encoding_of
from dragoman_local.workspace.versions import Version, new_digest, version_by, version_by_record

CHUNK = 256 * KIBIBYTE


class TextRead(NamedTuple):
    """Some lines of a file."""

    text: str
    version: Version
    whole: str | None
    """The whole text, if it was requested and is not too large."""


class RangeRead(NamedTuple):
    """Some bytes of a file."""

    data: bytes
    version: Version
    size: int


class FileContents(NamedTuple):
    """The content of a file that is about to be overwritten."""

    version: Version
    status: os.stat_result
    encoding: Encoding
    text: str | None
    """None if it is not text, or too large."""


def read_text(
    fd: int, settings: FileSettings, *, first: int = 1, limit: int | None = None, keep_whole: bool = False
) -> TextRead:
    """Return lines from `first` on, counted from 1, at most `limit`."""
    try:
        return _read_as(None, fd, settings, first=first, limit=limit, keep_whole=keep_whole)
    except ErrorAnswer as error:
        if error.code != NOT_TEXT or settings.foreign_text == "refuse":
            raise
    return _read_as(LATIN_1, fd, settings, first=first, limit=limit, keep_whole=keep_whole)


def _read_as(
    encoding: Encoding | None,
    fd: int,
    settings: FileSettings,
    *,
    first: int,
    limit: int | None,
    keep_whole: bool,
) -> TextRead:
    watch = _FilePass(fd, settings)
    window = LineWindow(first=first, limit=limit, most=settings.read_bytes)
    keep_whole = keep_whole and watch.hashes and watch.status.st_size <= settings.read_bytes
    whole: list[str] = []
    reader: TextReader | None = None

    def take(text: str) -> None:
        window.feed(text)
        if keep_whole:
            whole.append(text)

    for chunk in watch.chunks():
        if not window.is_full or keep_whole:
            reader = reader or TextReader(encoding or encoding_of(chunk))
            take(reader.feed(chunk))
        if window.is_full and not watch.hashes:
            break  # otherwise the version is still wanted
    else:
        if reader is not None and (not window.is_full or keep_whole):
            take(reader.end())
    return TextRead(window.text, watch.version(), "".join(whole) if keep_whole else None)


def read_range(fd: int, settings: FileSettings, *, offset: int, limit: int) -> RangeRead:
    """Return bytes from `offset` on, at most `limit`."""
    watch = _FilePass(fd, settings)
    if not watch.hashes:
        return RangeRead(os.pread(fd, limit, offset), watch.version(), watch.status.st_size)
    parts: list[bytes] = []
    position = 0
    for chunk in watch.chunks():
        parts.append(chunk[max(offset - position, 0) : max(offset + limit - position, 0)])
        position += len(chunk)
    return RangeRead(b"".join(parts), watch.version(), position)


def read_contents(fd: int, settings: FileSettings) -> FileContents:
    """Return everything that a write must know about the file it replaces."""
    watch = _FilePass(fd, settings)
    if not watch.hashes:
        head = encoding_of(os.pread(fd, 4, 0))
        return FileContents(watch.version(), watch.status, head, None)
    is_kept = watch.status.st_size <= settings.read_bytes
    data = bytearray()
    head = encoding_of(b"")
    for number, chunk in enumerate(watch.chunks()):
        if number == 0:
            head = encoding_of(chunk)
        if is_kept:
            data += chunk
    encoding, text = _decode_text(bytes(data), head, settings) if is_kept else (head, None)
    return FileContents(watch.version(), watch.status, encoding, text)


def _decode_text(data: bytes, encoding: Encoding, settings: FileSettings) -> tuple[Encoding, str | None]:
    choices = (encoding,) if settings.foreign_text == "refuse" else (encoding, LATIN_1)
    for choice in choices:
        try:
            return choice, choice.decode(data)
        except ErrorAnswer:  # a picture may be replaced by a text; it has no form to keep
            continue
    return UTF_8, None


class _FilePass:
    """One pass over a file, and the version of the content that it saw."""

    def __init__(self, fd: int, settings: FileSettings) -> None:
        self._fd = fd
        self._most = settings.scan_bytes
        # Taken before the first byte: a change while we read makes this version an old one.
        self.status = os.fstat(fd)
        self.hashes = self.status.st_size <= settings.hash_bytes
        self._digest = new_digest()

    def chunks(self) -> Iterator[bytes]:
        os.lseek(self._fd, 0, os.SEEK_SET)
        total = 0
        while chunk := os.read(self._fd, CHUNK):
            total += len(chunk)
            if total > self._most:
                raise too_large("the lines lie too far into a very large file")
            if self.hashes:
                self._digest.update(chunk)
            yield chunk

    def version(self) -> Version:
        """Ask after the pass."""
        return version_by(self._digest) if self.hashes else version_by_record(self.status)
