"""Finds files of a folder by a few letters of their names.

Git knows which files matter; elsewhere we look, bounded in count and time. The list is kept for a moment:
keys come faster than files do.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from typing import IO

from dragoman.errors import LocalMistake
from dragoman.system.files import open_regular
from dragoman.system.git import find_git
from dragoman.system.git_files import list_git_files
from dragoman.text.fuzzy import fuzzy_search
from dragoman_app.tui.ports import FileText
from dragoman_local.workspace.snapshot_entries import IGNORED

MOST = 50_000
SECONDS = 3.0
FRESH = 5.0
"""The seconds until a list is read again."""


class FileFinder:
    """Finds files below one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._paths: Sequence[str] = ()
        self._at = -FRESH
        self._lock = asyncio.Lock()

    async def find(self, query: str) -> Sequence[str]:
        async with self._lock:
            if time.monotonic() - self._at > FRESH:
                self._paths = await asyncio.to_thread(list_files, self._folder)
                self._at = time.monotonic()
        paths: Sequence[str] = await asyncio.to_thread(fuzzy_search, query, self._paths, key=str, most=8)
        return paths


def list_files(folder: str) -> list[str]:
    """Return paths below a folder, shortest folders first."""
    paths = _from_git(folder)
    if paths is None:
        paths = [path for path, _ in zip(_walk(folder), range(MOST), strict=False)]
    return sorted(paths, key=lambda path: (path.count("/"), path))


def _from_git(folder: str) -> list[str] | None:
    program = find_git()
    paths = None if program is None else list_git_files(program, folder, seconds=SECONDS)
    return None if paths is None else paths[:MOST]


def _walk(folder: str) -> Iterator[str]:
    until = time.monotonic() + SECONDS
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED and not name.startswith("."))
        below = os.path.relpath(path, folder)
        for name in sorted(names):
            yield name if below == "." else os.path.join(below, name)
        if time.monotonic() > until:
            return


# A text file of this machine, to be looked at: bounded, and never something else than a file.
#
# What a person opens may have been named by an agent, so that a pipe, a device or a file without an end must
# do no harm.

WHOLE = 1024 * 1024
"""The most bytes of a file to show completely."""

AROUND = 1000
"""The lines to show before and after the wanted line of a larger file."""

LONGEST_LINE = 64 * 1024
"""The most bytes of one line of a larger file."""


def read_file_text(folder: str, path: str, line: int = 0) -> FileText:
    """Return the file, or the lines around `line` of a large one. Raises `LocalMistake` with the reason if it
    can't be read.
    """
    place = os.path.join(folder, os.path.expanduser(path) if path.startswith("~/") else path)
    try:
        with open_regular(place) as file:
            status = os.fstat(file.fileno())
            first, data = (1, file.read(WHOLE)) if status.st_size <= WHOLE else _window(file, line)
    except (OSError, ValueError) as error:
        raise LocalMistake(f"{place} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if b"\0" in data:
        raise LocalMistake(f"{place} is not text")
    text = data.decode("utf-8", "replace")
    return FileText(path=place, text=text, first=first, is_whole=status.st_size <= WHOLE)


def _window(file: IO[bytes], line: int) -> tuple[int, bytes]:
    first = max(1, line - AROUND)
    lines = iter(lambda: file.readline(LONGEST_LINE), b"")
    window = itertools.islice(lines, first - 1, first - 1 + 2 * AROUND)
    return first, b"".join(window)
