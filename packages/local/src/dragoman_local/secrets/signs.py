"""Cheap checks whether a text may contain a secret at all, before the expensive search. Pure.

Most prose has none of them, and is done with after a few searches for characters that it lacks.
"""

from __future__ import annotations

import re
from collections.abc import Set

_PROSE_STEMS = {
    "pass": re.compile(
        "pass(?!ed|es|ing|age|ion|ive|enger|port"
        "| (?:a|all|an|any|by|for|in|it|its|on|over|that|the|this|to|your) )"
    ),
    "auth": re.compile("auth(?!ors?[^a-z]|ored|orship|orit|oriz(?!ation)|entic)"),
}
"""Words alone can be no secret but a password or a login, and neither verbs nor authors tell one."""
STEMS = frozenset(
    ["auth", "bearer", "cookie", "cred", "jwt", "key", "otp", "pass", "psk", "pw", "secret", "sig", "token"]
)
SETTING_STEMS = {"sessid": "sessid", "code": "code=", "pat": "_pat="}
"""Parts of telling names, and parts of names before a `=`."""

_KINDS = bytes(
    ord(
        "1"
        if chr(code).isdigit()
        else "a"
        if chr(code).isalpha()
        else chr(code)
        if chr(code) in "-(\\"
        else "."
        if chr(code) not in "=@|{$"
        else "!"
    )
    if code < 128 and chr(code) not in "\0 \t\r\n,;:'\"/)?"
    else 32
    for code in range(256)
)
"""Letters, digits, dashes, brackets, signs that prose has around and within words, what else it has none of,
and all that parts words.
"""
_NUMBER = re.compile(r"1(?:(?<=[a.-]1)|(?=[a.-]))")
_OPTION, _CALL = re.compile("-(?<=[ -]-)a"), re.compile(r"\((?<=a\()(?:[a.]{1,24}  )? ")
_LONGEST_WORD = "a" * 20
_SHORTEST_KEY = 6


def signs_of(text: str, octets: bytes | None = None) -> str:
    """Return the kinds of a text's characters; none if it has only words and numbers, like most prose. Such a
    text contains at most a password of letters, a phrase or a number, after the name of a password. The
    octets are the text in Latin-1, with question marks for other letters.
    """
    signs = (octets or text.encode("latin-1", "replace")).translate(_KINDS).decode("latin-1")
    if "\\" in signs:  # the letter of an escape is none of the word behind it
        signs = signs.replace("\\a", "  ").replace("\\", " ")
    if (
        "!" in signs
        or _OPTION.search(signs)
        or ("(" in signs and _CALL.search(signs))
        or ("<" in text and "<<<" in text)
        or (_LONGEST_WORD in signs and _has_long_word(text, signs))
    ):
        return signs
    return signs if "1" in signs and _has_odd_word(signs) else ""


def _has_long_word(text: str, signs: str) -> bool:
    """Whether a word as long as a key of letters has more than one letter."""
    end = 0
    while (at := signs.find(_LONGEST_WORD, end)) >= 0:
        start, end = signs.rfind(" ", 0, at) + 1, signs.find(" ", at) % (len(signs) + 1)
        if text[start:end].strip(text[at]):
            return True
    return False


def _has_odd_word(signs: str) -> bool:
    """Whether a word as long as a key has letters and digits."""
    end = 0
    while number := _NUMBER.search(signs, end):
        start = signs.rfind(" ", end, number.start()) + 1
        end = signs.find(" ", number.start()) % (len(signs) + 1)
        if end - start >= _SHORTEST_KEY and "a" in signs[start:end]:
            return True
    return False


def has_prose_stem(low: str) -> bool:
    return any(stem in low and word.search(low) is not None for stem, word in _PROSE_STEMS.items())


def stems_of(low: str, signs: str, parts: Set[str]) -> list[str]:
    """Return the stems in a text with these parts of words. Without one, it has no telling name."""
    if not signs:
        return [stem for stem, word in _PROSE_STEMS.items() if stem in parts and word.search(low)]
    return [
        *sorted(parts & STEMS),
        *(stem for part, stem in SETTING_STEMS.items() if part in parts and stem in low),
    ]
