"""In which line of a TOML text something stands.

The standard library reads TOML and tells no lines. The text is cut into its statements; each sets one path,
in which an element of an array is a number. Tables in arrays (`[[a]]`) are counted, the elements of an array
that goes over several lines are found by looking through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from dragoman.sdk.known.toml_text import TomlStatement, statements

Path: TypeAlias = tuple[str | int, ...]

OPENING, CLOSING = "[{", "]}"


class Lines:
    """The lines of one valid text."""

    def __init__(self, text: str) -> None:
        self._places = list(_places(statements(text)))

    def of(self, path: Sequence[str | int]) -> int:
        """The line that says something of `path`, or else of what holds it; 1 when nothing does."""
        best, depth = 1, 0
        for place, line in self._places:
            shared = _shared(place, tuple(path))
            if shared > depth:
                best, depth = line, shared
        return best


def _places(found: Sequence[TomlStatement]) -> Iterator[tuple[Path, int]]:
    counts: dict[Path, int] = {}
    header: Path = ()
    plain: tuple[str, ...] = ()
    for statement in found:
        if not statement.path:
            continue
        line = statement.first
        if statement.is_header:
            plain, header = statement.path, _numbered(statement.path, counts)
            if statement.text.lstrip().startswith("[["):
                # `_numbered` has named the last element that there was; this is the next.
                counts[header] = counts.get(header, -1) + 1
                header = (*header, counts[header])
            yield header, line
        else:
            own = (*header, *statement.path[len(plain) :])
            yield own, line
            yield from (((*own, number), at) for number, at in _elements(statement))


def _numbered(path: tuple[str, ...], counts: dict[Path, int]) -> Path:
    """A path in which each array of tables on the way stands with its last element."""
    numbered: Path = ()
    for depth, name in enumerate(path, 1):
        numbered = (*numbered, name)
        if depth < len(path) and numbered in counts:
            numbered = (*numbered, counts[numbered])
    return numbered


def _elements(statement: TomlStatement) -> Iterator[tuple[int, int]]:
    """The elements of an array, each with its line; nothing for other values."""
    text = statement.text
    at = _behind_key(text)
    while at < len(text) and text[at] in " \t":
        at += 1
    if at >= len(text) or text[at] != "[":
        return
    depth, number, fresh = 0, 0, False
    for position, character in _code(text, at):
        if depth == 1 and fresh and character not in " \t\r\n,]":
            yield number, statement.first + text.count("\n", 0, position)
            fresh = False
        if character in OPENING:
            depth += 1
            fresh = fresh or depth == 1
        elif character in CLOSING:
            depth -= 1
            if depth == 0:
                return
        elif character == "," and depth == 1:
            number, fresh = number + 1, True


def _behind_key(text: str) -> int:
    return next((at + 1 for at, character in _code(text, 0) if character == "="), len(text))


def _code(text: str, at: int) -> Iterator[tuple[int, str]]:
    """The characters outside of strings and comments; a string counts as its first quote."""
    while at < len(text):
        quote = next((each for each in ('"""', "'''", '"', "'") if text.startswith(each, at)), None)
        if quote is not None:
            yield at, quote[0]
            at = _end_of_string(text, at + len(quote), quote)
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            yield at, text[at]
            at += 1


def _end_of_string(text: str, at: int, quote: str) -> int:
    while at < len(text):
        if text[at] == "\\" and quote[0] == '"':
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return len(text)


def _shared(one: Path, other: Path) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
