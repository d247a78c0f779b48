"""Completes paths on the hub's machine: files of a session by fuzzy search, folders by their prefix.

Only folders that the token may open are named. Both functions read the disk: call them in a thread.
"""

from __future__ import annotations

import os
from itertools import islice

from dragoman.text.fuzzy import fuzzy_search
from dragoman_hub.gate.admission import Grant

MOST = 50
"""The most folders in one answer."""

LOOKED_AT = 5_000
"""The most entries of one folder to read: a mail spool must not cost seconds at every key."""

FILES_LOOKED_AT = 20_000
"""The most files to search for a pattern; a folder with more is searched by its agent."""

SKIPPED = frozenset({"node_modules", "__pycache__", "target", "dist", "build", "venv"})


def complete_folder(path: str, *, grant: Grant) -> dict[str, object]:
    """Return `{"path": …, "exists": …, "folders": […], "repositories": […]}` for typed text; in `path`, `~`
    is resolved. `repositories` are those of the folders, and of the path and its parents, that git knows.
    """
    full_path = os.path.expanduser(path)
    if not os.path.isabs(full_path) or "\0" in full_path:
        return {"path": full_path, "exists": False, "folders": [], "repositories": []}
    exists = os.path.isdir(full_path) and grant.may_open(full_path)
    parent, start = os.path.split(full_path)
    folders = list(islice(filter(grant.may_open, sorted(_folders(parent, start))), MOST))
    around = [folder for folder in _upwards(full_path) if grant.may_open(folder)]
    return {
        "path": full_path,
        "exists": exists,
        "folders": folders,
        "repositories": [
            folder for folder in (*around, *folders) if os.path.lexists(os.path.join(folder, ".git"))
        ],
    }


def _upwards(path: str) -> list[str]:
    """The path and every folder that it lies in, the root of the disk left out."""
    folders = []
    path = os.path.normpath(path)
    while path != os.path.dirname(path):
        folders.append(path)
        path = os.path.dirname(path)
    return folders


def _folders(parent: str, start: str) -> list[str]:
    try:
        with os.scandir(parent) as entries:
            return [
                entry.path
                for entry in islice(entries, LOOKED_AT)
                if entry.name.startswith(start)
                and (start.startswith(".") or not entry.name.startswith("."))
                and entry.is_dir()
            ]
    except OSError:  # there is no such folder, or it may not be read: nothing to offer
        return []


def find_files(folder: str, pattern: str, limit: int) -> list[str]:
    """Return files whose path has the pattern's letters in order, the closest first."""
    paths: list[str] = []
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in SKIPPED)
        paths += (os.path.relpath(os.path.join(at, name), folder) for name in sorted(files))
        if len(paths) > FILES_LOOKED_AT:
            break
    return fuzzy_search(pattern, sorted(paths, key=lambda path: (len(path), path)), key=str, most=limit)
