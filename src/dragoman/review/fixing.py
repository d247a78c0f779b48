"""Fixes on the disk: written as a whole or not at all, and never over something that nobody reviewed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.review.source_files import SourceText


class StaleFile(LocalMistake):
    """The file is not any more what was reviewed; it is left as it is."""


def write_fixed(path: Path, was: SourceText, text: str) -> None:
    """Put a new text in the place of one that was reviewed. Raises `StaleFile` and `OSError`.

    A link stays a link: what it points to is written. Mode and encoding stay as they were.
    """
    path = path.resolve(strict=True)
    data = was.encode(text)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, path.stat().st_mode & 0o7777)
        # As late as possible: what comes between this look and the replacement would be lost.
        if path.read_bytes() != was.data:
            raise StaleFile(f"{path} was changed since it was reviewed; it is left as it is")
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
