"""Folders to take snapshots of, in a git work tree and without git, and ways to look at what was told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from dragoman_local.workspace.snapshots import TurnChangeSet

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, **IDENTITY}
    done = subprocess.run(["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def commit_all(folder: Path) -> None:
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "all")


def told(changes: TurnChangeSet, root: Path) -> dict[str, str]:
    """Relative path to kind."""
    return {os.path.relpath(change.path, root): change.kind for change in changes.files}


def picture(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder: mode and content."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            found[str(path)] = (status.st_mode, os.fsencode(os.readlink(path)))
        elif path.is_file():
            found[str(path)] = (status.st_mode, path.read_bytes())
    return found


def records(folder: Path) -> list[tuple[str, int, int]]:
    """Everything below a folder, with its dates: not even these may change."""
    return sorted(
        (str(path), path.lstat().st_mtime_ns, path.lstat().st_ctime_ns) for path in folder.rglob("*")
    )
