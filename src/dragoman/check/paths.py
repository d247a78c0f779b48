"""Paths as they stand in frames: of any system, compared without touching a disk."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Any

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_absolute(path: Any) -> bool:
    return type(path) is str and (path.startswith(("/", "\\\\")) or bool(_DRIVE.match(path)))


def normal(path: str) -> str:
    """One spelling: slashes, no dots, no slash at the end; macOS and Windows know two for some."""
    slashed = path.replace("\\", "/") if _DRIVE.match(path) or path.startswith("\\\\") else path
    plain = posixpath.normpath(slashed).replace("//", "/", 1)
    if plain.startswith(("/private/tmp", "/private/var")):
        plain = plain.removeprefix("/private")
    return plain.lower() if _DRIVE.match(plain) else plain


def is_same(one: str, other: str) -> bool:
    return normal(one) == normal(other)


def is_under(path: str, folders: Iterable[str]) -> bool:
    """Whether it is one of the folders or in one of them."""
    mine = normal(path)
    return any(mine == folder or mine.startswith(folder.rstrip("/") + "/") for folder in map(normal, folders))


def ends_with(path: str, tail: str) -> bool:
    """Whether its last parts are these."""
    return normal(path).endswith("/" + normal(tail).lstrip("/"))
