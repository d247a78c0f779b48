"""A file that is replaced as a whole: a reader sees the former one or the new one, and never a part.

The new file is written beside the old one, under a name that nobody can guess, is on the disk before it gets
the old one's name, and is removed if anything fails before that. The folder is there already.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PRIVATE = 0o600


@contextmanager
def replacement_of(target: Path, *, mode: int) -> Iterator[Path]:
    """A new file that takes the place of `target`, with this mode, when the block ends well."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    copy = Path(name)
    try:
        yield copy
        with copy.open("rb+") as file:
            os.fsync(file.fileno())
        os.chmod(copy, mode)
        os.replace(copy, target)
    except BaseException:
        with suppress(OSError):  # the reason that is being raised matters more
            copy.unlink()
        raise


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file as a whole. A link stays a link: what it points to is replaced. `mode` is for a new file;
    another one keeps its own. Raises `OSError`.
    """
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode & 0o7777
    with replacement_of(target, mode=mode) as copy:
        copy.write_bytes(data)
