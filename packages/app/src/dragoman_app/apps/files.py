"""Files that a command reads and writes: clear errors, private results, and tokens.

Tokens come from a file or the environment, never from a command line, which everybody can read.
"""

from __future__ import annotations

import os
from typing import IO, Literal, TypeAlias

from dragoman.errors import LocalMistake

FileAct: TypeAlias = Literal["read", "write"]

OpenMode: TypeAlias = Literal["create", "append"]

FLAGS: dict[OpenMode, int] = {"create": os.O_EXCL, "append": os.O_APPEND}

MEANINGS = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "this is a folder",
    NotADirectoryError: "part of the path is not a folder",
    PermissionError: "permission denied",
    FileExistsError: "it exists already",
}

VARIABLE = "DRAGOMAN_TOKEN"


def explain_error(error: BaseException, *, act: FileAct = "read") -> str:
    """Explain an error of the system as `cannot read X: no such file`; other errors explain themselves."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    meaning = MEANINGS.get(type(error), error.strerror)
    if act == "write" and isinstance(error, FileNotFoundError):
        meaning = "no such folder"
    return meaning if error.filename is None else f"cannot {act} {os.fsdecode(error.filename)}: {meaning}"


def open_private(path: str | os.PathLike[str], *, how: OpenMode) -> IO[bytes]:
    """Open a file for writing that only its owner can read: results of a recording hold the same secrets. An
    existing file keeps its mode, which a person chose.
    """
    flags = os.O_WRONLY | os.O_CREAT | FLAGS[how] | getattr(os, "O_CLOEXEC", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def read_token(path: str) -> str:
    """Return the token in a file with nothing else."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LocalMistake(f"can't read the token: {explain_error(error)}") from None


def authorization(path: str | None = None) -> dict[str, str]:
    """Return the header with the token from this file or from the environment; none if there is no token."""
    token = os.environ.get(VARIABLE, "") if path is None else read_token(path)
    return {"authorization": f"Bearer {token}"} if token else {}
