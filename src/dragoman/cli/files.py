"""Files that a command reads and writes: one way to say what went wrong, and who may read a result."""

from __future__ import annotations

import os
from typing import IO, Literal, TypeAlias

Act: TypeAlias = Literal["read", "write"]

How: TypeAlias = Literal["replace", "create", "append"]

FLAGS: dict[How, int] = {"replace": os.O_TRUNC, "create": os.O_EXCL, "append": os.O_APPEND}

MEANINGS = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "it is a folder",
    NotADirectoryError: "a part of the path is no folder",
    PermissionError: "permission denied",
    FileExistsError: "it exists already",
}


def explain_error(error: BaseException, *, act: Act = "read") -> str:
    """In words. An error of the system becomes `cannot read X: no such file`; others say it themselves."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    meaning = MEANINGS.get(type(error), error.strerror)
    if act == "write" and isinstance(error, FileNotFoundError):
        meaning = "there is no such folder"
    return meaning if error.filename is None else f"cannot {act} {os.fsdecode(error.filename)}: {meaning}"


def open_private(path: str | os.PathLike[str], *, how: How = "replace") -> IO[bytes]:
    """A file to write, for its owner's eyes: what is made of a recording tells as much as the recording
    does. One that is there already keeps its mode, which somebody chose.
    """
    flags = os.O_WRONLY | os.O_CREAT | FLAGS[how] | getattr(os, "O_CLOEXEC", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")
