"""The files of a folder, for somebody who types a few letters of a name.

Git knows which files matter; elsewhere we look, bounded in count and time. The list is kept for a moment:
keys come faster than files do.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator, Sequence

from dragoman.system import git
from dragoman.text.fuzzy import fuzzy_search
from dragoman.workspace.snapshot_entries import IGNORED

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
    program = git.find_git()
    if program is None:
        return None
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    try:
        places = git.read_places(_run(git.ask_repository(program, git.LOCATE), folder), folder)
        if places is None:
            return None
        settings = _run(git.ask_repository(program, git.READ_SETTINGS), folder, may_fail=True)
        with git.Isolation(program, places, settings=git.read_settings(settings)) as isolation:
            output = _run(isolation.command(*words), folder)
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(path) for path in output.split(b"\0")[:MOST] if path]


def _run(command: git.GitCommand, folder: str, *, may_fail: bool = False) -> bytes:
    process = subprocess.run(
        command.words,
        cwd=folder,
        env=command.env,
        capture_output=True,
        timeout=SECONDS,
        check=not may_fail,
        stdin=subprocess.DEVNULL,
    )
    return process.stdout


def _walk(folder: str) -> Iterator[str]:
    until = time.monotonic() + SECONDS
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED and not name.startswith("."))
        below = os.path.relpath(path, folder)
        for name in sorted(names):
            yield name if below == "." else os.path.join(below, name)
        if time.monotonic() > until:
            return
