"""Finds passwords after the word for "password" in languages other than English. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set

from dragoman_local.secrets.names import Doubt, looks_secret

WORDS = (
    *("kennwort", "contraseña", "contrasena", "senha", "wachtwoord", "mot de passe", "mot_de_passe"),
    *("hasło", "lösenord", "heslo", "jelszó", "şifre", "пароль", "κωδικός", "パスワード", "密码", "密碼"),
    *("비밀번호", "clave", "schlüssel"),
)

_ESCAPE = re.compile(r"\\u[0-9a-f]{4}")


def _spellings() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """By a part of a word that each text with it has, how it may be spelled in small letters, of ASCII or of
    all: as it is, and as UTF-8 that was read as Latin-1. Then how JSON may write it, with its escapes.
    """
    by_parts: dict[str, set[str]] = {}
    by_escapes: dict[str, set[str]] = {}
    for word in WORDS:
        for form in (word, word.capitalize(), word.upper()):
            spellings = by_parts.setdefault(re.split("[ _]", form)[-1], set())
            for written in (form, form.encode().decode("latin-1")):
                spellings |= {written.lower(), written.encode().lower().decode()}
            escaped = json.dumps(form)[1:-1].lower()
            by_escapes[escaped] = set(_ESCAPE.findall(escaped))
    return by_parts, {word: escapes for word, escapes in by_escapes.items() if escapes}


_BY_PARTS, _BY_ESCAPES = _spellings()
FOREIGN_PARTS = _BY_PARTS.keys()
_ASCII = bytes(range(128))
_LETTERS = {frozenset(filter(lambda letter: letter > "\x7f", part)) for part in FOREIGN_PARTS} - {frozenset()}
_ASCII_HINT = re.compile("w(?:ort|oord)")


def may_be_foreign(text: bytes, low: str) -> bool:
    """Check quickly the letters of a text without the signs of code."""
    letters = frozenset("" if text.isascii() else text.translate(None, _ASCII).decode(errors="replace"))
    return (
        b"\\u" in text
        or _ASCII_HINT.search(low) is not None
        or bool(letters and any(needed <= letters for needed in _LETTERS))
    )


_TOLD = re.compile(
    rf"(?:{'|'.join(WORDS)})[^:：=\n\"'`]{{0,25}}?"
    r"[\"'`]?\s*(?:[:：=]|\b(?:es|est|ist|lautet|is|é|è|je)\b:?|は|是|\s)\s*[\"'`«「]?\s*"
    r"(?P<secret>(?=\S*\d)[^\s\"'`»」,。、]{4,64})"
)
_ALONE = re.compile(
    rf"(?:{'|'.join(WORDS[:-2])})[\"'`]?\s{{0,4}}[:：=]\s{{0,4}}[\"'`]?(?P<secret>[^\W\d_]{{6,64}})"
    r"(?=[\"'`]|[ \t]*(?:[#),;\n]|\Z))"
)
"""One word and nothing else: no program has a variable of such a name."""


def foreign_hints(low: str, parts: Set[str]) -> Iterator[int]:
    """Return the places of such words in a lower case text, also as JSON or another encoding writes them."""
    words = {word for part in parts & FOREIGN_PARTS for word in _BY_PARTS[part]}
    if "\\u" in low:
        escapes = set(_ESCAPE.findall(low))
        words |= {word for word, needed in _BY_ESCAPES.items() if needed <= escapes}
    for word in words:
        at = low.find(word)
        while at >= 0:
            yield at
            at = low.find(word, at + len(word))


def foreign_spans(low: str, parts: Set[str]) -> Iterator[tuple[int, int]]:
    """Return the places of passwords in other languages."""
    if next(foreign_hints(low, parts), None) is not None:
        for match in _TOLD.finditer(low):
            value = match["secret"].rstrip(".!?)")
            if any(map(str.isdigit, value)) and looks_secret(value, Doubt.RANDOM, is_quoted=True):
                yield match.start("secret"), match.start("secret") + len(value)
        for match in _ALONE.finditer(low):
            if looks_secret(match["secret"], Doubt.WORD, is_quoted=True) and match["secret"] not in WORDS:
                yield match.span("secret")
