"""Makes a peer's text safe for a terminal. All packages use this sanitizer.

An agent, a hub or a file name may hold characters that a terminal obeys (control characters, escape
sequences), that turn the direction of writing, or that nobody can see. Each of them is replaced by a visible
escape: `␛` for a C0 control, `\\u202e` for anything else. Nothing is dropped, so that a reader notices.

What stays: printable text of every script, line ends and tabs in `sanitize`, and the invisible characters
that ordinary text needs, in the places where it needs them: joiners in emoji and in Arabic and Indic words,
variation selectors behind a symbol or an ideograph, the tags of three flags.

`exact=True` is for commands, paths and values that a person approves. There a no-break space is not a space,
a carriage return is not part of a line end, and a character that this Python does not know is not taken for
an emoji, so these are shown as well.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from dragoman.text.characters import BLANKS, HELD, INVISIBLE, NEEDED, PLAIN, VISIBLE

_HIDDEN: Final = re.compile(f"[{INVISIBLE}]")
_VISIBLE: Final = re.compile(f"[{VISIBLE}]")
_BLANK: Final = re.compile(f"[{BLANKS}]")


@cache  # compiling takes longer than most commands have to print
def _odd() -> re.Pattern[str]:
    """What is looked at one by one; `needed` are the invisible characters that stand where they must."""
    return re.compile(rf"(?P<needed>{NEEDED})|[^{PLAIN}\n\t]")


_HELD: Final = re.compile(rf"[{HELD}]{{1,16}}\Z|\r\Z")
"""What a stream holds back: only the next character says whether it is needed."""


def sanitize(text: str, *, exact: bool = False) -> str:
    """Sanitize many lines: every character that a terminal would obey or hide becomes visible; line ends and
    tabs stay.
    """
    if text.isascii() and text.isprintable():  # most of what is said
        return text
    if not exact:
        text = text.replace("\r\n", "\n")
    if _is_plain(text.replace("\n", "").replace("\t", "")) and not (exact and _BLANK.search(text)):
        return text
    return _odd().sub(_shown_exactly if exact else _show_match, text)


def sanitize_line(text: str, *, exact: bool = False) -> str:
    """Sanitize one line: for titles, names, commands and cells of tables."""
    safe = sanitize(text, exact=exact)
    return safe.replace("\n", "␊").replace("\t", "␉" if exact else " ")


def sanitize_json(data: bytes) -> bytes:
    """Sanitize encoded JSON without changing its value: a terminal does not know that it shows JSON."""
    if data.isascii() and b"\x7f" not in data:
        return data
    text = data.decode("utf-8", "replace")
    return data if _is_plain(text) else _odd().sub(_json_escape, text).encode()


class SanitizedStream:
    """Sanitizes a text that comes in pieces, which may cut a line end or an emoji in two."""

    def __init__(self) -> None:
        self._before = ""  # the last character that was given out
        self._pending = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be shown now."""
        text, self._pending = self._pending + piece, ""
        if match := _HELD.search(text):
            text, self._pending = text[: match.start()], match[0]
        return self._take(text)

    def finish(self) -> str:
        """Return the text that was held back."""
        text, self._pending = self._pending, ""
        return self._take(text)

    def _take(self, text: str) -> str:
        if not text:
            return ""
        before, self._before = self._before, text[-1]
        if text.isascii():
            return sanitize(text)
        return sanitize(before + text)[len(sanitize(before)) :]


def _is_plain(text: str) -> bool:
    return text.isprintable() and _HIDDEN.search(text) is None


def _is_shown(character: str) -> bool:
    if character.isprintable():
        return _HIDDEN.match(character) is None
    return _VISIBLE.match(character) is not None or _BLANK.match(character) is not None


def _show_match(match: re.Match[str]) -> str:
    return match[0] if match["needed"] or _is_shown(match[0]) else _escape(ord(match[0]))


def _shown_exactly(match: re.Match[str]) -> str:
    if match["needed"] or (match[0].isprintable() and not _HIDDEN.match(match[0])):
        return match[0] if match[0] != "\u2800" else _escape(0x2800)
    return _escape(ord(match[0]))


def _escape(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    if match["needed"] or _is_shown(match[0]):
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
