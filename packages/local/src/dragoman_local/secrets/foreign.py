"""Finds passwords after the word for "password" in languages other than English. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from dragoman_local.secrets.names import Doubt, looks_secret

WORDS = (
    *("kennwort", "contraseña", "contrasena", "senha", "wachtwoord", "mot de passe", "mot_de_passe"),
    *("hasło", "lösenord", "heslo", "jelszó", "şifre", "пароль", "κωδικός", "パスワード", "密码", "密碼"),
    *("비밀번호", "clave", "schlüssel"),
)

_SPELLINGS = {
    spelling.lower()
    for small in WORDS
    for word in (small, small.capitalize())
    for spelling in (word, word.encode().decode("latin-1"), json.dumps(word)[1:-1])
}
"""As they are, as UTF-8 that was read as Latin-1, and as JSON may write them."""
_HINT = re.compile("|".join(map(re.escape, sorted(_SPELLINGS))))
_ASCII_HINT, _FRENCH = re.compile("w(?:ort|oord)"), re.compile("mot[ _]de")
_ASCII_WORDS = ("senha", "heslo", "clave", "contrasena")
_ASCII = bytes(range(128))
_LETTERS = re.compile(
    b"|".join(sorted({spelling.encode().translate(None, _ASCII) for spelling in _SPELLINGS} - {b""}))
)
_TOLD = re.compile(
    rf"(?:{'|'.join(WORDS)})[^:：=\n\"'`]{{0,25}}?"
    r"[\"'`]?\s*(?:[:：=]|\b(?:es|est|ist|lautet|is|é|è|je)\b:?|は|是|\s)\s*[\"'`«「]?\s*"
    r"(?P<secret>(?=\S*\d)[^\s\"'`»」,。、]{4,64})"
)


def foreign_hint(low: str, stems: Sequence[str]) -> re.Match[str] | None:
    """The place of such a word in a lower-case text, also in JSON or another encoding."""
    is_hinted: object = (
        ("\\" in low and "\\u" in low) or _ASCII_HINT.search(low) or ("pass" in stems and _FRENCH.search(low))
    )
    if not is_hinted and not low.isascii():
        letters = low.encode(errors="replace").translate(None, _ASCII)
        is_hinted = bool(_LETTERS.search(letters)) or any(word in low for word in _ASCII_WORDS)
    return _HINT.search(low) if is_hinted else None


def foreign_spans(low: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places of passwords in other languages."""
    if foreign_hint(low, stems):
        for match in _TOLD.finditer(low):
            value = match["secret"].rstrip(".!?)")
            if any(map(str.isdigit, value)) and looks_secret(value, Doubt.RANDOM, is_quoted=True):
                yield match.start("secret"), match.start("secret") + len(value)
