"""TOML as text: finds the lines of an entry, and writes values.

The standard library reads TOML but tells neither lines nor comments. A text that is valid as a whole falls
into statements that are valid each by itself, so statements are found by adding lines until one parses. That
is all that an error with a line number needs, and all that an edit needs which keeps every other line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

BARE = re.compile(r"[A-Za-z0-9_-]+")

LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""The newline of TOML; `splitlines` knows ten, some of which may be inside a string."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


class TomlStatement(Struct, frozen=True):
    """A header, an assignment, a comment or a blank line."""

    first: int
    """Its first line, counted from 1."""

    text: str
    path: tuple[str, ...]
    """The full name of its table or key; empty for a comment."""

    is_header: bool

    @property
    def last(self) -> int:
        return self.first + self.text.count("\n") - (1 if self.text.endswith("\n") else 0)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text. Raises `ValueError` with the place of the mistake."""
    return tomllib.loads(text)


def statements(text: str) -> list[TomlStatement]:
    """Cut a valid TOML text into statements; their texts joined are the whole again."""
    result: list[TomlStatement] = []
    table: tuple[str, ...] = ()
    pending, first = "", 1
    for number, line in enumerate(LINE.findall(text), 1):
        pending += line
        document = _parse(pending)
        if document is None:
            continue
        is_header = pending.lstrip().startswith("[")
        name = _name(document, is_header=is_header)
        if is_header:
            table = name
        elif name:
            name = table + name
        result.append(TomlStatement(first, pending, name, is_header))
        pending, first = "", number + 1
    return result


def line_of(text: str, *path: str) -> int:
    """Return the line of `path`, or of its parent; 1 if there is neither."""
    best, depth = 1, 0
    for statement in statements(text):
        length = _common_length(statement.path, path)
        if length > depth:
            best, depth = statement.first, length
    return best


def write_key(name: str) -> str:
    return name if BARE.fullmatch(name) else write_value(name)


def write_value(value: str | Sequence[str] | Mapping[str, str]) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return '"' + "".join(_escape(character) for character in value) + '"'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{write_key(name)} = {write_value(item)}" for name, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return "[" + ", ".join(map(write_value, value)) + "]"


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\u{ord(character):04X}" if ord(character) < 32 or ord(character) == 127 else character


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # not whole yet: the next line belongs to it
        return None


def _name(document: Mapping[str, object], *, is_header: bool) -> tuple[str, ...]:
    """The path of single keys that one statement makes."""
    path: list[str] = []
    inside: Any = document
    while True:
        if is_header and isinstance(inside, list):  # [[tables]] in an array
            inside = inside[0]
        elif isinstance(inside, Mapping) and len(inside) == 1:
            key, inside = next(iter(inside.items()))
            path.append(key)
        else:
            return tuple(path)


def _common_length(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    count = 0
    for first_key, second_key in zip(first, second, strict=False):
        if first_key != second_key:
            break
        count += 1
    return count
