"""Metadata of files that a snapshot does not keep: they show that a file changed, not how.

A snapshot leaves out what git ignores, repositories of their own, folders of tools and `.git` itself. Whoever
has to be sure that nothing was changed cannot leave them out. Blocks; no link is followed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

MOST_FILES: Final = 1_000_000
SECONDS: Final = 30.0

_GIT_WORK: Final = frozenset({"objects", "logs", "index", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD"})
"""What git itself writes when nothing but its state of work changes: to look at a repository writes there."""


class FileRecord(NamedTuple):
    """The metadata that reveal a change of a file."""

    inode: int
    size: int
    mode: int
    changed: int
    recorded: int


class RecordsIncomplete(Exception):
    """There are more files than the limit."""


def take_records(roots: Sequence[str], *, is_kept: Callable[[str], bool]) -> dict[str, FileRecord]:
    """Return the record of each file, by its path; of files in a snapshot, only the mode."""
    records: dict[str, FileRecord] = {}
    end = time.monotonic() + SECONDS
    for path, status in _files([*roots, *_shared_git_folders(roots)]):
        if len(records) >= MOST_FILES or time.monotonic() > end:
            raise RecordsIncomplete(f"there are more files below {roots[0]} than can be looked at in time")
        # Of a file that a snapshot keeps, its content is compared; who may read and write it is not.
        is_whole = not is_kept(path)
        records[path] = FileRecord(
            status.st_ino if is_whole else 0,
            status.st_size if is_whole else 0,
            status.st_mode,
            status.st_mtime_ns if is_whole else 0,
            status.st_ctime_ns if is_whole else 0,
        )
    return records


def touched_paths(before: dict[str, FileRecord], after: dict[str, FileRecord]) -> list[str]:
    """Return the files that are new, deleted or changed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _files(folders: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        in_git = _is_git_folder(folder)
        try:
            with os.scandir(folder) as entries:
                found = [
                    entry
                    for entry in entries
                    if not (in_git and (entry.name in _GIT_WORK or entry.name.endswith(".lock")))
                ]
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry.path, entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # it went away while we looked, which the folder above tells
            continue


def _is_git_folder(folder: str) -> bool:
    """Whether it is a repository, or what a repository keeps of another work tree."""
    names = (os.path.join(folder, name) for name in ("objects", "commondir"))
    return os.path.isfile(os.path.join(folder, "HEAD")) and any(map(os.path.exists, names))


def _shared_git_folders(roots: Sequence[str]) -> Iterator[str]:
    """The repository behind a work tree that lies elsewhere: its hooks run here, too."""
    for root in roots:
        try:
            with open(os.path.join(root, ".git"), encoding="utf-8") as file:
                own = file.read().removeprefix("gitdir:").strip()
        except (OSError, UnicodeDecodeError):
            continue
        own = os.path.join(root, own)
        try:
            with open(os.path.join(own, "commondir"), encoding="utf-8") as file:
                yield os.path.normpath(os.path.join(own, file.read().strip()))
        except (OSError, UnicodeDecodeError):
            yield own
