"""Cheap checks whether a text may contain a secret at all, before the expensive search. Pure.

Most prose has none of them, and is done with after a few searches for characters that it lacks. A letter
that is rare is found more quickly than a word, and a word more quickly than any of several.
"""

from __future__ import annotations

import re

_PROSE_STEMS = {
    "pass": re.compile(
        "pass(?!ed|es|ing|age|ion|ive|enger|port"
        "| (?:a|all|an|any|by|for|in|it|its|on|over|that|the|this|to|your) )"
    ),
    "auth": re.compile("auth(?!ors?[^a-z]|ored|orship|orit|oriz(?!ation)|entic)"),
}
"""Words alone can be no secret but a password or a login, and neither verbs nor authors tell one."""
OTHER_STEMS = ("auth", "secret", "cred", "sig")
SETTING_STEMS = ("sessid", "code=", "_pat=")
"""What telling names have in them, besides those with rare letters; and what they have before a `=`."""

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
    if code < 128 and chr(code) not in " \t\r\n,;:'\"/)?"
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


def signs_of(text: str) -> str:
    """Of what kinds the characters of a text are; nothing if it is words and numbers alone, as most prose is.
    Such a text holds at most a password of letters, a phrase or a number: no other name but that of
    a password leads there.
    """
    signs = text.encode("latin-1", "replace").translate(_KINDS).decode("latin-1")
    if "\\" in signs:  # the letter of an escape is none of the word behind it
        signs = signs.replace("\\a", "  ").replace("\\", " ")
    if (
        "!" in signs
        or _OPTION.search(signs)
        or ("(" in signs and _CALL.search(signs))
        or ("<" in text and "<<<" in text)
        or _LONGEST_WORD in signs
    ):
        return signs
    return signs if _has_odd_word(signs) else ""


def _has_odd_word(signs: str) -> bool:
    """Whether a word as long as a key has letters and digits."""
    end = 0
    while number := _NUMBER.search(signs, end):
        start = signs.rfind(" ", end, number.start()) + 1
        end = signs.find(" ", number.start()) % (len(signs) + 1)
        if end - start >= _SHORTEST_KEY and "a" in signs[start:end]:
            return True
    return False


_RARE_LETTERS = (
    re.compile(r"k(?:ey|(?<=tok)en|(?<=cook)ie|(?<=psk))"),
    re.compile(r"p(?:ass|w|(?<=otp))"),
)
"""A letter that is rare in prose is found more quickly than four words with it."""
_BY_LETTERS = {
    "key": "key",
    "ken": "token",
    "kie": "cookie",
    "k": "psk",
    "pass": "pass",
    "pw": "pw",
    "p": "otp",
}


def stems_of(low: str, signs: str) -> list[str]:
    """The stems that a text has. Without one, it has no telling name."""
    if not signs:
        return [stem for stem, word in _PROSE_STEMS.items() if stem in low and word.search(low)]
    rare = {_BY_LETTERS[end] for pattern in _RARE_LETTERS for end in pattern.findall(low)}
    others = (*OTHER_STEMS, *SETTING_STEMS) if "=" in low else OTHER_STEMS
    return [*sorted(rare), *(stem for stem in others if stem in low)]
