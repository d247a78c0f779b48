"""Files of a cache, whose contents can be computed again: a failed write is not an error.

A reader sees the whole of a file or none. A folder is bounded: one that has too many files loses the older
half of them, so that most writes need not look at their dates.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_cache_file(path: Path, data: bytes, *, most: int) -> None:
    """Write a cache file that only its owner can read, into a folder with at most this many files. An
    unwritable folder is ignored.
    """
    # Written beside and moved, so that another process never reads half of it. Unlike what `replacement`
    # writes it need not be on the disk before: that would take longer than to make it anew.
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(beside, "wb", opener=_open_for_owner) as file:
            file.write(data)
        beside.replace(path)
        _drop_older_half(path.parent, most=most)


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _drop_older_half(folder: Path, *, most: int) -> None:
    """If there are more files than that, remove those that were written first."""
    entries = list(os.scandir(folder))
    if len(entries) <= most:
        return
    ages = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
    for _, path in ages[: len(ages) // 2]:
        with suppress(FileNotFoundError):  # another process does the same
            os.unlink(path)
