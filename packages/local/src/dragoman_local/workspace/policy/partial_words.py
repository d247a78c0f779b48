"""Words of which only a part is known, and what they might be.

Pure. A command line says `$NAME`, `$(…)`, `*` or `{a,b}`, and the shell puts something else there. Three
characters of the private range stand for what is not known, so that such a word is still text:

    ANY    any text at all, several words and slashes included: a variable, a substitution, braces
    RUN    any part of one file name: the shell's `*`
    ONE    one character of a file name: the shell's `?` and `[…]`

`may_be` says whether a word might be what a pattern of a rule names. It errs on the side of yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
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
    return text.isascii() or not (ANY in text or RUN in text or ONE in text)


def has_unknown_part(text: str) -> bool:
    return ANY in text


def without_marks(text: str) -> str:
    """A text that somebody else wrote, in which our marks have no meaning."""
    return text.translate(dict.fromkeys(map(ord, _MARKS), ANY))


def may_be(word: str, pattern: str) -> bool:
    """Whether a word might be one that a pattern (`*`, `?`, `[…]`) names, whatever the case."""
    # The shell's patterns leave out names that begin with a dot.
    if word[:1] in (RUN, ONE) and pattern[:1] == ".":
        return False
    if len(word) > MOST_CHARACTERS or len(pattern) > MOST_CHARACTERS:
        return True
    return overlap(_pattern_parts(pattern.casefold()), word.casefold(), fits=_fits, runs=_RUNS)


_RUNS: Final = frozenset((ANY, RUN))


def _fits(first: str, second: str) -> bool:
    return ONE in (first, second) or first == second


@lru_cache(maxsize=1024)
def _pattern_parts(pattern: str) -> tuple[str, ...]:
    """A pattern with our marks in the place of its own; a set of characters may be any of them."""
    pieces = re.findall(r"\[(.[^]]*)\]|(.)", pattern, re.DOTALL)
    return tuple(
        {"*": RUN, "?": ONE}.get(one, one) if one else inside if len(inside) == 1 else ONE
        for inside, one in pieces
    )


def overlap(
    first: Sequence[str],
    second: Sequence[str],
    *,
    fits: Callable[[str, str], bool],
    runs: Container[str],
    is_literal: bool = False,
) -> bool:
    """Whether something fits two patterns at once. A part that is one of `runs` stands for any number of
    parts, none included; with `is_literal`, only in the first.
    """
    stars = [not is_literal and part in runs for part in second]
    positions = _skip(stars, {0})  # how many parts of `second` may be used up after each part of `first`
    for part in first:
        if part in runs:
            positions = set(range(min(positions), len(second) + 1))
            continue
        forward = {
            at if stars[at] else at + 1
            for at in positions
            if at < len(second) and (stars[at] or fits(part, second[at]))
        }
        if not forward:
            return False
        positions = _skip(stars, forward)
    return len(second) in positions


def _skip(stars: Sequence[bool], positions: set[int]) -> set[int]:
    """The positions, with those behind a part that may stand for nothing at all."""
    for at in sorted(positions):
        while at < len(stars) and stars[at]:
            at += 1
            positions.add(at)
    return positions
