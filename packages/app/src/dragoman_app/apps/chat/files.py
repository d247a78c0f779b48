"""Finds files of a folder by a few letters of their names.

Git knows which files matter; elsewhere we look, bounded in count and time. The list is kept for a moment:
keys come faster than files do.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence

from dragoman.system.git import find_git
from dragoman.system.git_files import list_git_files
from dragoman.text.fuzzy import fuzzy_search
from dragoman_local.workspace.snapshot_entries import IGNORED

MOST = 50_000
SECONDS = 3.0
FRESH = 5.0
"""Seconds that a list is good for."""


class FileFinder:
    """Below one folder."""

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
    """Paths below it, shortest folders first."""
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
