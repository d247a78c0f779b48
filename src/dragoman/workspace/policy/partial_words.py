"""Words of which only a part is known, and what they might be.

Pure. A command line says `$NAME`, `$(…)`, `*` or `{a,b}`, and the shell puts something else there. Three
characters of the private range stand for what is not known, so that such a word is still text:

    ANY    any text at all, several words and slashes included: a variable, a substitution, braces
    RUN    any part of one file name: the shell's `*`
    ONE    one character of a file name: the shell's `?` and `[…]`

`may_be` says whether a word might be what a pattern of a rule names. It errs on the side of yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

ANY: Final = "\ue000"
RUN: Final = "\ue001"
ONE: Final = "\ue002"

_MARKS: Final = frozenset((ANY, RUN, ONE))

MOST_CHARACTERS: Final = 1024
"""A longer word is taken for one that may be anything: comparing takes the product of both lengths."""


def is_known(text: str) -> bool:
    """Whether nothing in a text is left open."""
    return not any(mark in text for mark in _MARKS)


def has_unknown_part(text: str) -> bool:
    return ANY in text


def without_marks(text: str) -> str:
    """A text that somebody else wrote, in which our marks have no meaning."""
    return "".join(ANY if character in _MARKS else character for character in text)


def may_be(word: str, pattern: str) -> bool:
    """Whether a word might be one that a pattern (`*`, `?`, `[…]`) names, whatever the case."""
    # The shell's patterns leave out names that begin with a dot.
    if word[:1] in (RUN, ONE) and pattern[:1] == ".":
        return False
    if len(word) > MOST_CHARACTERS or len(pattern) > MOST_CHARACTERS:
        return True
    return _overlap(_pattern_parts(pattern.casefold()), tuple(word.casefold()))


@lru_cache(maxsize=1024)
def _pattern_parts(pattern: str) -> tuple[str, ...]:
    """A pattern with our marks in the place of its own; a set of characters may be any of them."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        end = pattern.find("]", at + 2) if character == "[" else -1
        if end > 0:
            inside = pattern[at + 1 : end]
            parts.append(inside if len(inside) == 1 else ONE)
            at = end + 1
            continue
        parts.append({"*": RUN, "?": ONE}.get(character, character))
        at += 1
    return tuple(parts)


def _overlap(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether some text fits two patterns at once."""
    positions = _skip(second, {0})  # how many parts of `second` may be used up after each part of `first`
    for part in first:
        forward: set[int] = set()
        if part in (ANY, RUN):
            forward.update(range(min(positions), len(second) + 1))
        else:
            for at in positions - {len(second)}:
                if second[at] in (ANY, RUN):
                    forward.add(at)  # it takes this part, and may take more
                elif part == ONE or second[at] in (ONE, part):
                    forward.add(at + 1)
        if not forward:
            return False
        positions = _skip(second, forward)
    return len(second) in positions


def _skip(parts: Sequence[str], positions: set[int]) -> set[int]:
    """The positions, with those behind a part that may stand for no character at all."""
    grown = set(positions)
    for at in sorted(positions):
        while at < len(parts) and parts[at] in (ANY, RUN):
            at += 1
            grown.add(at)
    return grown
