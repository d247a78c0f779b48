"""Text of a peer, made safe for a terminal. The one sanitizer of the house.

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

# Printable for Python, invisible for a reader: grapheme joiner, Hangul fillers, inherent vowels of Khmer,
# variation selectors, the filler of Khitan, the null notehead.
_INVISIBLE: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef"
)
# Not printable for Python, and still seen by every reader: signs that enclose Arabic, Syriac and Kaithi
# digits, and the code points that Unicode keeps for emoji which this Python does not know yet.
_VISIBLE: Final = re.compile(
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U0001f000-\U0001faff]"
)
_BLANKS: Final = "\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"

_SYMBOLS: Final = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u24ff\u25a0-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_IDEOGRAPHS: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Blocks of the scripts whose letters change their form with a joiner.
_JOINING: Final = (
    "\u0600-\u109f\u1780-\u18af\u1a00-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
)
_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)

_NEEDED: Final = (
    rf"(?<=[{_JOINING}])[\u200c\u200d](?![\u200c\u200d])"
    rf"|(?:(?<=[{_SYMBOLS}])|(?<=[{_SYMBOLS}]\ufe0f))\u200d(?=[{_SYMBOLS}])"
    rf"|(?<=[{_SYMBOLS}])[\ufe0e\ufe0f]"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=[{_IDEOGRAPHS}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    rf"|(?<=\U0001f3f4)(?:{_FLAGS})"
)
# Letters that need no second look; the rest is judged one by one.
_PLAIN: Final = r" -~\xa1-\xac\xae-\u02ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
_HIDDEN: Final = re.compile(f"[{_INVISIBLE}]")
_BLANK: Final = re.compile(f"[{_BLANKS}]")


@cache  # compiling takes longer than most commands have to print
def _odd() -> re.Pattern[str]:
    """What is looked at one by one; `needed` are the invisible characters that stand where they must."""
    return re.compile(rf"(?P<needed>{_NEEDED})|[^{_PLAIN}\n\t]")


_HELD: Final = re.compile(r"[\u200c\u200d\ufe00-\ufe0f\u180b-\u180f\U000e0000-\U000e01ef]{1,16}\Z|\r\Z")
"""What a stream holds back: only the next character says whether it is needed."""


def sanitize(text: str, *, exact: bool = False) -> str:
    """Many lines: every character that a terminal would obey or hide is shown; line ends and tabs stay."""
    if text.isascii() and text.isprintable():  # most of what is said
        return text
    if not exact:
        text = text.replace("\r\n", "\n")
    if _is_plain(text.replace("\n", "").replace("\t", "")) and not (exact and _BLANK.search(text)):
        return text
    return _odd().sub(_shown_exactly if exact else _shown, text)


def sanitize_line(text: str, *, exact: bool = False) -> str:
    """One line: the same for titles, names, commands and cells of tables."""
    safe = sanitize(text, exact=exact)
    return safe.replace("\n", "␊").replace("\t", "␉" if exact else " ")


def sanitize_json(encoded: bytes) -> bytes:
    """Encoded JSON with the same value: a terminal does not know that it reads JSON."""
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    text = encoded.decode("utf-8", "replace")
    return encoded if _is_plain(text) else _odd().sub(_json_escape, text).encode()


class SanitizedStream:
    """The same for text that comes in pieces: a line end or an emoji may be cut in two."""

    def __init__(self) -> None:
        self._before = ""  # the last character that was given out
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        text, self._held = self._held + piece, ""
        if found := _HELD.search(text):
            text, self._held = text[: found.start()], found[0]
        return self._take(text)

    def finish(self) -> str:
        """What was held back."""
        text, self._held = self._held, ""
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


def _shown(found: re.Match[str]) -> str:
    return found[0] if found["needed"] or _is_shown(found[0]) else _escape(ord(found[0]))


def _shown_exactly(found: re.Match[str]) -> str:
    if found["needed"] or (found[0].isprintable() and not _HIDDEN.match(found[0])):
        return found[0] if found[0] != "\u2800" else _escape(0x2800)
    return _escape(ord(found[0]))


def _escape(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    if found["needed"] or _is_shown(found[0]):
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
