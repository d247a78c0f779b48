"""Finds passwords after the word for "password" in languages other than English. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from dragoman_local.secrets.names import Doubt, looks_secret
from dragoman_local.secrets.words import places_of

WORDS = (
    *("kennwort", "contraseña", "contrasena", "senha", "wachtwoord", "mot de passe", "mot_de_passe"),
    *("hasło", "lösenord", "heslo", "jelszó", "şifre", "пароль", "κωδικός", "パスワード", "密码", "密碼"),
    *("salasana", "passord", "adgangskode", "slaptažodis", "mật khẩu", "kata sandi", "лозинка", "סיסמה"),
    *("parolă", "clé secrète", "clé api", "clave secreta", "chave secreta", "비밀번호", "clave", "schlüssel"),
)


def _spellings() -> dict[str, set[str]]:
    """By a part of a word that each text with it has, how it may be spelled in small letters, of ASCII or of
    all: as it is, and as UTF-8 that was read as Latin-1.
    """
    by_parts: dict[str, set[str]] = {}
    for word in WORDS:
        for form in (word, word.capitalize(), word.upper()):
            spellings = by_parts.setdefault(re.split("[ _]", form)[-1], set())
            for written in (form, form.encode().decode("latin-1")):
                spellings |= {written.lower(), written.encode().lower().decode()}
    return by_parts


_BY_PARTS = _spellings()
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
    r"[\"'`]?\s*(?:[:：=]|\b(?:es|est|ist|lautet|is|é|è|je|"
    r"(?<=salasana )on|er|är|là)\b:?|は|是|\s)\s*[\"'`«「]?\s*"
    r"(?P<secret>(?=\S*\d)[^\s\"'`»」,。、]{4,64})"
)
_ALONE = re.compile(
    rf"(?:{'|'.join(WORDS[:-2])})[\"'`]?\s{{0,4}}[:：=]\s{{0,4}}[\"'`]?(?P<secret>[^\W\d_]{{6,64}})"
    r"(?=[\"'`]|[ \t]*(?:[#),;\n]|\Z))"
)
"""One word and nothing else: no program has a variable of such a name."""


def foreign_hints(low: str, parts: Set[str]) -> Iterator[int]:
    """Return the places of such words in a lower case text, also as another encoding writes them. What JSON
    writes with escapes may be one.
    """
    for word in {"\\u", *(word for part in parts & FOREIGN_PARTS for word in _BY_PARTS[part])}:
        yield from places_of(low, word)


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
