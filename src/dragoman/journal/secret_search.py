r"""Finds the places of a text at which a secret may be, without reading it as JSON.

`secret_places` is asked about nearly everything that is stored, so it goes through a text only with what the
interpreter does in C. What it does not find is no secret: whatever `redaction` would change has a place here.
A place is a suspicion, and rare in prose and code, also where they speak of keys and tokens.

A word is looked for by its last letter, of which ordinary text has little, and what stands before that: this
is many times as fast as to look for words by their first letters. Names are what stands between two quotes,
before a colon. The names of JSON within a string (`\"token\": \"x\"`) are looked for by the values behind
them, and only strings are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.journal.secret_patterns import EDGE, SHAPES, is_secret_name

MOST_NAMES = 4096
LONGEST_NAME = 64
"""How many names are remembered as harmless, and how long they may be."""

_harmless_names: set[str] = set()


_OPTION_NAMES = "(?:[a-z]+-)*(?:api-?key|token|secret|password|passwd)"
"""What may follow `--`. A quote may come behind it, or the end of a text that goes on elsewhere."""

_VARIABLE_ENDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")
_QUERY_NAMES = ("access_token", "api_key", "apikey", "token", "secret", "password")
"""With what names of variables end, which are written in capitals, and names in an address."""


class _LetterSearch(NamedTuple):
    """Words that end with the same letter."""

    letter: str
    here: re.Pattern[str]
    """Any of the words, at its last letter, with what follows if the word is that of a secret."""


def _key_searches() -> list[_LetterSearch]:
    by_letter = {
        "-": [("--", _OPTION_NAMES)],
        "_": [(f"{end}_", "[A-Z0-9]+=") for end in _VARIABLE_ENDS],
    }
    for word, shape in SHAPES:
        # The end of a text need not be the end of a word, where others come behind it.
        loose = shape.pattern.removeprefix(EDGE).removesuffix(rb"\b").decode()
        # Where a shape begins before its word, the word alone is suspicious.
        rest = loose.removeprefix(word) if loose.startswith(word) else ""
        by_letter.setdefault(word[-1], []).append((word, rest))
    return [_LetterSearch(letter, _pattern_at(letter, words)) for letter, words in by_letter.items()]


def _pattern_at(letter: str, words: list[tuple[str, str]]) -> re.Pattern[str]:
    """One letter before it, then two, are looked at first: what is none of the words fails soon."""
    one = "".join(sorted({re.escape(word[-2]) for word, _ in words}))
    two = "|".join(sorted({re.escape(word[-3:-1]) for word, _ in words if len(word) > 2}))
    short, long = (
        [f"(?<={re.escape(word)})(?={rest})" for word, rest in words if (len(word) > 2) is is_long]
        for is_long in (False, True)
    )
    choices = "|".join([*short, f"(?<=(?:{two}){letter})(?:{'|'.join(long)})"])
    return re.compile(f"{letter}(?<=[{one}]{letter})(?:{choices})", re.ASCII)


def _behind(words: list[str], letter: str) -> str:
    return "|".join(f"(?<={word}{letter})" for word in words)


_KEY_SEARCHES = _key_searches()

_NAME = re.compile(r'"([^"]*+)(?="[ \t\r\n]*+:)')
_NAME_WITH_QUOTE = re.compile(r'\\"(?=[^"]*+(?:(?<!\\)|(?<=\\\\))"[ \t\r\n]*+:)')
_INNER_VALUE = re.compile(r':(?<=[" ]:) *+(?:\\t *+)*+\\++"')
_BEARER = re.compile(r"b(?i:earer)(?=\s+[^\s]{8})", re.ASCII)
_BASIC = _LetterSearch("z", re.compile(r"(?i)z(?<=authoriz)(?=ation\W{1,6}basic)", re.ASCII))
_ADDRESS = re.compile(r":(?=(?:\\?/){2}[^\s/\"\\:@]{0,200}:[^\s\"@]{1,3000}@)", re.ASCII)
_ASSIGNMENT = re.compile(
    "=(?<=[NYTDnytd]=)(?<=(?i:key|ken|ret|ord|swd)=)"
    f"(?:{_behind([*_VARIABLE_ENDS, *(f'[?&](?i:{name})' for name in _QUERY_NAMES)], '=')})",
    re.ASCII,
)


def secret_places(block: bytes) -> list[int]:
    r"""Where something begins that needs a closer look. A block is a frame, or frames with `\n"` between."""
    text = block.decode("latin-1")
    return [*_places_of_names(text), *_places_in_text(text)]


def has_suspect_text(texts: bytes) -> bool:
    """Whether something in the texts of strings needs a closer look. They have no names in them, and nothing
    between them, so that a secret which was cut in two is seen too.
    """
    return next(_places_in_text(texts.decode("latin-1")), None) is not None


def has_key(text: bytes) -> bool:
    """Whether something in it may be a key by its shape."""
    return next(_places_of_keys(text.decode("latin-1")), None) is not None


def _places_in_text(text: str) -> Iterator[int]:
    yield from _places_of_keys(text)
    if "@" in text:
        yield from _starts(_ADDRESS, text)
    if "=" in text:
        yield from _starts(_ASSIGNMENT, text)
    yield from _places_of_inner_names(text)
    # To make all letters small costs as much as to look for two words.
    yield from _starts(_BEARER, text.replace("B", "b"))
    if "z" in text or "Z" in text:
        yield from _places_of_letter(_BASIC, text.replace("Z", "z"))


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.start() for match in pattern.finditer(text)] if pattern.search(text) else []


def _places_of_names(text: str) -> list[int]:
    names = set(_NAME.findall(text))
    places = _starts(_NAME_WITH_QUOTE, text) if '\\"' in text else []
    secret = {name for name in names - _harmless_names if not _is_harmless(name)}
    if "data" in names and ('"authenticate"' in text or "\\u" in text):
        # In some dialects the data of a login are secret. The method may have been written with escapes.
        secret.add("data")
    if secret:
        places += [match.start() for match in _NAME.finditer(text) if match[1] in secret]
    return places


def _is_harmless(name: str) -> bool:
    """Whether it is no secret's name, or no name. It is as it was written, read as Latin-1."""
    if name.endswith("\\") and (len(name) - len(name.rstrip("\\"))) % 2:
        return True  # an escaped quote comes behind it: this is within a string
    if "\\" in name:
        return False
    if is_secret_name(name if name.isascii() else name.encode("latin-1").decode(errors="replace")):
        return False
    _remember_harmless(name)
    return True


def _remember_harmless(name: str) -> None:
    if len(name) <= LONGEST_NAME:
        if len(_harmless_names) >= MOST_NAMES:
            _harmless_names.clear()
        _harmless_names.add(name)


def _places_of_inner_names(text: str) -> list[int]:
    """Where names of JSON within a string end, if one of them may be a secret's."""
    places = _starts(_INNER_VALUE, text)
    if not places:
        return places
    # Of a name that is longer than any of these, the end is as good as the whole.
    ends = [text[place - LONGEST_NAME if place > LONGEST_NAME else 0 : place] for place in places]
    names = {end.rsplit('"', 2)[-2:][0] for end in ends} - _harmless_names
    return places if any(map(_is_secret_inside, names)) else []


def _is_secret_inside(name: str) -> bool:
    """Whether it may be a secret's. Behind it are the backslashes of an escaped quote, or it is no name."""
    if not name.endswith("\\"):
        return False
    if not _is_harmless(name.rstrip("\\")):
        return True
    _remember_harmless(name)
    return False


def _places_of_keys(text: str) -> Iterator[int]:
    for search in _KEY_SEARCHES:
        if search.letter in text:
            yield from _places_of_letter(search, text)


def _places_of_letter(search: _LetterSearch, text: str) -> Iterator[int]:
    letter, here = search
    if not letter.isalnum():
        yield from _starts(here, text)
        return
    # It is so rare that one looks for it alone.
    place = text.find(letter)
    while place >= 0:
        if here.match(text, place):
            yield place
        place = text.find(letter, place + 1)
