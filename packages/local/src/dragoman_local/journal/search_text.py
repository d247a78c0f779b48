"""Text handling for search: prepares text for the index, parses queries, and shows hits.

A query is words; all must be there, each from its beginning. Scripts that are written without spaces are
taken character by character, so that a word within a sentence is found. Nothing a person types is an
operator, and nothing can be said that the index would refuse.
"""

from __future__ import annotations

import re
import unicodedata

SPLIT = "\u200b"
"""Added after each character of a script without spaces; invisible, and not part of any word."""

_UNSPACED = "([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])"
"""Compiled when something is indexed: it takes 4 ms, of every command that has a journal."""

_WORD = re.compile(r"[^\W_]+")

SEARCHED = ("prompt", "message", "thought", "tool", "plan")
"""The kinds of moments with searchable text."""

AROUND = 60
"""The characters of an excerpt on either side of the first match."""


def space_words(text: str) -> str:
    """Return the form of a text for the index."""
    return re.sub(_UNSPACED, rf"\1{SPLIT}", text)


def unspace_words(text: str) -> str:
    """Return the original text from the index."""
    return text.replace(SPLIT, "")


def words_of(text: str) -> list[str]:
    """Return the words of a query, as typed, except those without a letter or digit."""
    return [word for word in unspace_words(text).replace("\0", " ").split() if _WORD.search(word)]


def match_expression(text: str) -> str | None:
    """Return the index query; None if it has no word."""
    terms = ['"{}"*'.format(space_words(word).replace('"', '""')) for word in words_of(text)]
    return " ".join(terms) or None


def excerpt(text: str, query: str) -> str:
    """Return the first matching word with its context, on one line."""
    flat = " ".join(text.split())
    parts = [part.casefold() for word in words_of(query) for part in _WORD.findall(word)]
    places = [flat.casefold().find(part) for part in parts]
    at = min((place for place in places if place >= 0), default=0)
    begin, end = max(0, at - AROUND), min(len(flat), at + AROUND)
    return f"{'…' if begin else ''}{flat[begin:end].strip()}{'…' if end < len(flat) else ''}"


def has_all(text: str, query: str) -> bool:
    """Whether a text matches `query`: the same answer as from the index, without one."""
    words = f" {_fold(text)}"
    terms = [_fold(word) for word in words_of(query)]
    return bool(terms) and all(f" {term}" in words for term in terms)


def _fold(text: str) -> str:
    """The words without case and accents, one space apart."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return " ".join(_WORD.findall(space_words(bare))).casefold()
