"""A text file of this machine, to be looked at: bounded, and never something else than a file.

What a person opens may have been named by an agent, so that a pipe, a device or a file without an end must do
no harm.
"""

from __future__ import annotations

import itertools
import os
from typing import IO

from dragoman.errors import LocalMistake
from dragoman.system.files import open_regular
from dragoman_app.tui.ports import FileText

WHOLE = 1024 * 1024
"""Bytes of a file that is shown whole."""

AROUND = 1000
"""Lines before and behind the wanted one that are shown of a larger file."""

LONGEST_LINE = 64 * 1024
"""Bytes of one line of a larger file."""


def read_file_text(folder: str, path: str, line: int = 0) -> FileText:
    """The file, or the lines around `line` of a large one. Raises `LocalMistake` with the reason if not."""
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
