"""Paths as text: which paths an agent may use, and which root each belongs to.

Nothing here touches the disk, and nothing here decides whether a path stays inside: text can only be cut up
and compared name by name. The judging is done with descriptors, in `beneath`.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from dragoman_local.workspace.refusals import bad_path

LONGEST_PATH = 4096
"""The most bytes of a path, as on Linux; no system opens a longer one at once."""

LONGEST_NAME = 255
"""The most bytes of a name; checked before folders are created for a file that could not
be created itself.
"""

MOST_NAMES = 256
"""The most names in one path: far more than any project has, few enough to walk."""

Names = tuple[str, ...]


class Route(NamedTuple):
    """An absolute path in pieces. `..` is still in it: only the disk shows where that leads."""

    names: Names
    is_folder: bool
    """Whether it is written as a folder's path, for example with a slash at its end."""

    def __str__(self) -> str:
        return join_names(self.names)


def parse(path: str) -> Route:
    """Split an agent's path into names, or refuse it."""
    if "\0" in path:
        raise bad_path("the path contains a NUL character")
    if not path.startswith("/"):
        raise bad_path("the path must be absolute")
    try:
        path_bytes = os.fsencode(path)
    except UnicodeEncodeError:
        raise bad_path("the path contains half a character") from None
    if len(path_bytes) >= LONGEST_PATH:
        raise bad_path("the path is too long")
    names = split_path(path)
    if len(names) > MOST_NAMES:
        raise bad_path("the path has too many names")
    if any(len(os.fsencode(name)) > LONGEST_NAME for name in names):
        raise bad_path("a name in the path is too long")
    return Route(names, is_folder=path.rpartition("/")[2] in ("", ".", ".."))


def split_path(path: str) -> Names:
    """Return the names of a path, without empty ones."""
    return tuple(name for name in path.split("/") if name not in ("", "."))


def join_names(names: Names) -> str:
    return "/" + "/".join(names)


def names_below(names: Names, start: Names) -> Names | None:
    """Return the names after `start`, or None if `names` begins differently. `/a/b` is not the beginning of
    `/a/bc`.
    """
    return names[len(start) :] if names[: len(start)] == start else None
