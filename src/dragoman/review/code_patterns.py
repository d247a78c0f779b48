"""The patterns of `code_flow`: read from `data/code-flow.toml`, compiled when a text of their language comes.

To compile them takes longer than to look through a small file, so a review that knows every text, or has none
in a language, pays nothing for it.
"""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import cast

from msgspec import Struct

from dragoman.decoders import convert

_DATA = Path(__file__).parent / "data" / "code-flow.toml"


class LanguagePatterns(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one language has; absent where a rule does not know the language."""

    opener: str | None = None
    """Calls that open what has to be closed."""
    opening_words: tuple[str, ...] = ()
    """A text with none of these opens nothing."""
    read_chain: str | None = None
    """Calls that open something, use it at once and lose it."""
    async_names: str | None = None
    """Definitions of functions that must be awaited; a group is the name."""
    async_calls: str | None = None
    """Functions of libraries that must be awaited."""
    async_words: tuple[str, ...] = ()
    """A call of a library that must be awaited has one of these."""
    blocking: str | None = None
    suspends: str | None = None
    """The head of a function in which nothing may block."""
    weak_random: str | None = None
    pure: str | None = None
    """Calls that change nothing."""


class FlowPatterns(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The patterns of all languages."""

    closes: str
    handed_on: str
    secret_name: str
    language: dict[str, LanguagePatterns]


@functools.cache
def flow_patterns() -> FlowPatterns:
    return convert(tomllib.loads(_DATA.read_text("utf-8")), FlowPatterns)


def family(language: str) -> str:
    """The language whose patterns hold for this one."""
    return "javascript" if language in ("typescript", "tsx") else language


class CompiledPatterns:
    """The patterns of one language; each is compiled when it is first asked for."""

    def __init__(self, patterns: LanguagePatterns) -> None:
        self._patterns = patterns
        self.opening_words = patterns.opening_words
        self.async_words = patterns.async_words

    @functools.cached_property
    def opener(self) -> re.Pattern[str] | None:
        """An assignment of something that has to be closed."""
        if self._patterns.opener is None:
            return None
        return re.compile(
            r"(?:(?:const|let|var|val|final)\s+)?(?:[\w<>\[\].?]+\s+)?(?P<name>\w+)(?:\s*,\s*(?P<error>\w+))?"
            rf"(?:\s*:\s*[\w<>?.]+)?\s*:?=\s*(?P<call>{self._patterns.opener})"
        )

    @functools.cached_property
    def read_chain(self) -> re.Pattern[str] | None:
        return _compile(self._patterns.read_chain)

    @functools.cached_property
    def async_names(self) -> re.Pattern[str] | None:
        return _compile(self._patterns.async_names)

    @property
    def async_calls(self) -> str:
        return self._patterns.async_calls or r"(?!)"

    @functools.cached_property
    def blocking(self) -> re.Pattern[str] | None:
        return _compile(self._patterns.blocking)

    @functools.cached_property
    def suspends(self) -> re.Pattern[str] | None:
        return _compile(self._patterns.suspends)

    @functools.cached_property
    def weak_random(self) -> re.Pattern[str] | None:
        return _compile(self._patterns.weak_random)

    @functools.cached_property
    def pure(self) -> re.Pattern[str] | None:
        return _compile(self._patterns.pure)


class _LazyPattern:
    """A pattern that is compiled when it is first used: most texts need few of them."""

    def __init__(self, text: str, flags: re.RegexFlag) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self._text, self._flags)
        # From now on they are found without asking here.
        for verb in ("search", "match", "fullmatch", "finditer", "findall", "sub"):
            setattr(self, verb, getattr(compiled, verb))
        return getattr(compiled, name)


def lazy_pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """What `re.compile` gives, but later."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


def _compile(pattern: str | None) -> re.Pattern[str] | None:
    return None if pattern is None else re.compile(pattern)


@functools.cache
def patterns_for(language: str) -> CompiledPatterns:
    return CompiledPatterns(flow_patterns().language.get(family(language), LanguagePatterns()))
