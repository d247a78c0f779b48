"""Reads values from frames of any content: texts, lists of objects, paths of any system."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from dragoman.wire.envelope import JsonObject

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_absolute(path: object) -> bool:
    return type(path) is str and (path.startswith(("/", "\\\\")) or bool(_DRIVE.match(path)))


def normalize(path: str) -> str:
    """Return a path in one spelling: slashes, no dots, no slash at the end; macOS and Windows have two for
    some.
    """
    path_with_slashes = path.replace("\\", "/") if _DRIVE.match(path) or path.startswith("\\\\") else path
    plain = posixpath.normpath(path_with_slashes).replace("//", "/", 1)
    if plain.startswith(("/private/tmp", "/private/var")):
        plain = plain.removeprefix("/private")
    return plain.lower() if _DRIVE.match(plain) else plain


def is_same(first: str, second: str) -> bool:
    return normalize(first) == normalize(second)


def is_under(path: str, folders: Iterable[str]) -> bool:
    """Whether it is one of the folders or in one of them."""
    mine = normalize(path)
    return any(
        mine == folder or mine.startswith(folder.rstrip("/") + "/") for folder in map(normalize, folders)
    )


def ends_with(path: str, tail: str) -> bool:
    """Whether these are its last parts."""
    return normalize(path).endswith("/" + normalize(tail).lstrip("/"))


def text(value: object) -> str:
    """Return the value if it is a text, otherwise an empty text."""
    return value if type(value) is str else ""


def items(value: object) -> list[JsonObject]:
    """Return the objects of a list."""
    return [item for item in value if type(item) is dict] if type(value) is list else []


def missing_member(value: object, /, **kinds: type | tuple[type, ...]) -> str:
    """Return the first member that an object lacks or has with another type; empty if there is none."""
    if type(value) is not dict:
        return "object"
    for name, kind in kinds.items():
        member = value.get(name)
        if type(member) not in (kind if isinstance(kind, tuple) else (kind,)):
            return name
    return ""
