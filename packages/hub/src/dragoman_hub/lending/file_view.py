"""Shows one file of a session to a user: read-only, limited in size, and only from the session's folders.

The path is resolved with descriptors from the session's folders, so that neither `..` nor a link leads out of
them. A file that is larger than `MOST_BYTES` is shown in a window around the line that is wanted. What looks
like a secret is covered, and every line keeps its number. Reads the disk: call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params
from dragoman.wire.envelope import JsonObject
from dragoman_hub.gate.admission import Grant
from dragoman_local.secrets.search import redact_file
from dragoman_local.workspace.file_read import read_text
from dragoman_local.workspace.refusals import path_outside
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings

MOST_BYTES = 1024 * 1024
"""The most bytes of text in one answer: small enough for a phone."""

WINDOW = 2000
"""The lines of a larger file in one answer."""

SETTINGS = FileSettings(read_bytes=MOST_BYTES, scan_bytes=64 * MOST_BYTES, hash_bytes=0)


def read_file(folders: Sequence[str], path: str, *, line: int, grant: Grant) -> JsonObject:
    """`{path, text, first, size, isWhole, isCovered}`; `first` is the number of the first line of `text`."""
    with opened_file(folders, path, grant=grant) as (whole_path, fd):
        size = os.fstat(fd).st_size
        is_whole = size <= MOST_BYTES
        first = 1 if is_whole else max(1, line - WINDOW // 2)
        read = read_text(fd, SETTINGS, first=first, limit=None if is_whole else WINDOW)
    text = redact_file(read.text, name=os.path.basename(whole_path))
    return {
        "path": whole_path,
        "text": text,
        "first": first,
        "size": size,
        "isWhole": is_whole,
        "isCovered": text != read.text,
    }


@contextmanager
def opened_file(folders: Sequence[str], path: str, *, grant: Grant) -> Iterator[tuple[str, int]]:
    """Yield a file below the session's folders that the token may open: its path without links, and its
    descriptor.
    """
    if not path or "\0" in path:
        raise invalid_params("path is missing")
    absolute = os.path.join(folders[0], path)
    try:
        with Roots(folders[0], folders[1:]) as roots, roots.place(absolute) as place:
            if not grant.may_open(place.path):
                raise path_outside()
            fd = place.open_file()
            try:
                yield place.path, fd
            finally:
                os.close(fd)
    except ErrorAnswer:
        raise
    except DragomanError as error:
        raise ErrorAnswer(INTERNAL_ERROR, f"Internal error: {error}") from None
