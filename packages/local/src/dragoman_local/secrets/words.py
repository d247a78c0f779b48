"""Finds the telling parts in the words of a text. Each word is checked once and remembered: a text of
ordinary words costs one check for each, for any number of parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import AnyStr

_LETTERS = bytes(
    code + 32 if 65 <= code <= 90 else code if 97 <= code <= 122 or code > 127 else 32 for code in range(256)
)
"""Small letters, and all that is not ASCII; anything else parts words."""
MOST_WORDS = 1 << 14
LONGEST_WORD = 32
"""The most characters of a remembered word."""
_NONE: frozenset[str] = frozenset()


def places_of(text: AnyStr, word: AnyStr) -> Iterator[int]:
    """Return where the word stands. For one word this is quicker than a pattern."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


class WordParts:
    """The parts to find. `found(text)` returns those inside a word of the text."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = {part.encode().translate(_LETTERS): part for part in parts}
        self._any = re.compile(b"|".join(map(re.escape, sorted(self._parts))))
        self._plain: set[bytes] = set()
        self._telling: dict[bytes, frozenset[str]] = {}

    def found(self, text: bytes) -> frozenset[str]:
        new = set(text.translate(_LETTERS).split()) - self._plain
        return _NONE.union(*map(self._parts_of, new)) if new else _NONE

    def _parts_of(self, word: bytes) -> frozenset[str]:
        parts = self._telling.get(word)
        if parts is None:
            # In a long word, the pattern of all parts is slower than the parts.
            is_plain = len(word) <= LONGEST_WORD and self._any.search(word) is None
            parts = (
                _NONE if is_plain else frozenset(name for part, name in self._parts.items() if part in word)
            )
            if len(self._plain) + len(self._telling) >= MOST_WORDS:
                self._plain.clear()
                self._telling.clear()
            if is_plain and len(word) <= LONGEST_WORD:
                self._plain.add(word)
            elif len(word) <= LONGEST_WORD:
                self._telling[word] = parts
        return parts
