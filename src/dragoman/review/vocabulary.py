"""The words of a text, and whether a phrase may be in it: most phrases of rules are in no text. Pure.

To search a text takes a hundred times longer than to ask for one of its words, and a hundred rules ask for
three phrases each. Texts of one project share their words, so what is in a word is found out once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence

_LARGEST = 20_000
"""Words of a text that is searched as it is: one with so many was written by a machine."""

_MOST = 200_000
"""Words that are remembered before all are forgotten."""

_WORD = re.compile(r"\w+")
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "_"}


def words(text: str) -> Iterable[str]:
    """The words of a text. Of plain ASCII they are what blanks leave, found in a third of the time."""
    return text.translate(_BLANKS).split() if text.isascii() else _WORD.findall(text)


def _core(phrase: str) -> str:
    """The longest word of a phrase, with a line break on each side where it ends in the phrase itself."""
    match = max(_WORD.finditer(phrase), key=lambda match: len(match[0]), default=None)
    if match is None:
        return ""
    return f"{chr(10) if match.start() else ''}{match[0]}{chr(10) if match.end() < len(phrase) else ''}"


class _Memory:
    """Words of all texts so far, and the phrases that each may be a part of."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.phrases: set[str] = set()
        self.wordless_phrases: set[str] = set()
        self.phrases_by_word: dict[str, set[str]] = {}
        self.telling_words: set[str] = set()
        """Those that are a part of a phrase: few of all."""
        self._phrases_by_core: dict[str, list[str]] = {}
        self._text = ""

    def learn(self, new_words: Iterable[str]) -> None:
        """Find out which phrases some words may be a part of."""
        self.words.update(new_words)
        self._text = ""
        text = "\n".join(("", *new_words, ""))
        for core, phrases in self._phrases_by_core.items():
            if core in text:
                for word in _words_with(text, core):
                    self._tell(word, phrases)

    def add(self, phrase: str) -> Iterable[str] | None:
        """Remember a phrase. Returns the words of which a text must have one to have it, or None."""
        self.phrases.add(phrase)
        core = _core(phrase.lower())
        if not core:
            self.wordless_phrases.add(phrase)
            return None
        if core[0] == core[-1] == "\n":
            holders = [core[1:-1]]
        else:
            self._phrases_by_core.setdefault(core, []).append(phrase)
            # Phrases come many at a time, and words do not come between them.
            self._text = self._text or "\n".join(("", *self.words, ""))
            holders = list(_words_with(self._text, core))
        for word in holders:
            self._tell(word, (phrase,))
        return holders

    def _tell(self, word: str, phrases: Iterable[str]) -> None:
        self.telling_words.add(word)
        self.phrases_by_word.setdefault(word, set()).update(phrases)


def _words_with(text: str, core: str) -> Iterator[str]:
    """The lines of a text of words that hold a core. From hit to hit: there are few."""
    bare = core.strip("\n")
    at = text.find(core)
    while at >= 0:
        inside = at + (core[0] == "\n")
        end = text.index("\n", inside + len(bare))
        yield text[text.rindex("\n", 0, inside) + 1 : end]
        at = text.find(core, end)


class Vocabulary:
    """The words of one text, in lower case."""

    _memory = _Memory()

    def __init__(self, text: str) -> None:
        lower_text = text.lower()
        # Some letters become two: then offsets of the one are none of the other.
        self.lower_text = lower_text if len(lower_text) == len(text) else ""
        self._words = frozenset(words(self.lower_text))
        self._is_known = bool(self.lower_text) and len(self._words) <= _LARGEST
        self._phrases: set[str] = set()
        self._phrase_count = 0
        if self._is_known:
            self._learn()

    def _learn(self) -> None:
        cls = type(self)
        with _turn:
            if len(cls._memory.words) > _MOST:
                cls._memory = _Memory()  # texts that have the old one keep it
            self._memory = cls._memory
            if new_words := self._words - self._memory.words:
                self._memory.learn(new_words)
            self._recall()

    def _recall(self) -> None:
        """Find out which of all phrases may be in this text."""
        memory = self._memory
        by_word = memory.phrases_by_word
        self._phrases = memory.wordless_phrases.union(
            *(by_word[word] for word in self._words & memory.telling_words)
        )
        self._phrase_count = len(memory.phrases)

    def present(self, phrases: Sequence[str]) -> Sequence[str]:
        """Those of some phrases that may be in the text, in any case of its letters; rather too many than too
        few. For phrases that are the same for every text: they are remembered.
        """
        if not self._is_known:
            return phrases
        all_phrases = self._memory.phrases
        if len(all_phrases) != self._phrase_count or not all_phrases.issuperset(phrases):
            self._add(phrases)
        here = self._phrases
        return () if here.isdisjoint(phrases) else [phrase for phrase in phrases if phrase in here]

    def _add(self, phrases: Iterable[str]) -> None:
        with _turn:
            if len(self._memory.phrases) != self._phrase_count:
                self._recall()  # another text has brought new ones
            for phrase in phrases:
                if phrase not in self._memory.phrases:
                    holders = self._memory.add(phrase)
                    if holders is None or not self._words.isdisjoint(holders):
                        self._phrases.add(phrase)
            self._phrase_count = len(self._memory.phrases)


_turn = threading.Lock()
"""Texts are looked through in several threads, and share what is remembered."""
