"""Replaces a file as a whole: a reader sees the old or the new contents, never a part.

The new file is written beside the old one, under a name that nobody can guess, is on the disk before it gets
the old one's name, and is removed if anything fails before that. When the block is left, the name is on the
disk, too: a token that was revoked stays so when the power fails. The folder is there already.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PRIVATE = 0o600


@contextmanager
def replacement_of(target: Path, *, mode: int) -> Iterator[Path]:
    """Yield a new file that replaces `target`, with this mode, when the block ends without an error."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    copy = Path(name)
    try:
        yield copy
        sync_file(copy)
        os.chmod(copy, mode)
        os.replace(copy, target)
    except BaseException:
        with suppress(OSError):  # the reason that is being raised matters more
            copy.unlink()
        raise
    sync_folder(target.parent)


def sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk: otherwise a new file could be lost in a power failure."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file as a whole. A link stays a link: its target is replaced. `mode` is for a new file; an
    existing file keeps its own. Raises `OSError`.
    """
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode & 0o7777
    with replacement_of(target, mode=mode) as copy:
        copy.write_bytes(data)


@contextmanager
def replace_private(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that only its owner can read. An existing file keeps its mode, and its contents
    until the block ends without an error. A pipe, a device, or a file in a folder that we can't change is
    written in place.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK)):
        with open(target, "wb") as file:
            yield file
        return
    mode = target.stat().st_mode & 0o7777 if target.exists() else PRIVATE
    try:
        with replacement_of(target, mode=mode) as copy, copy.open("wb") as file:
            yield file
    except OSError as error:
        if error.filename is not None and os.path.dirname(error.filename) == str(target.parent):
            error.filename = os.fspath(path)  # nobody knows the name of the copy
        raise
