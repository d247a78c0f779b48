"""Text of an agent, made harmless for a terminal.

What an agent says is data. A terminal takes some characters for commands: to write the clipboard, to change
the title, to clear the screen, to turn the direction of what follows. Those are replaced by something that
can be seen; line breaks and tabs stay. Nothing is dropped, so that a reader notices.
"""

from __future__ import annotations

import re

# C0 without tab and newline, DEL, C1, marks and overrides of direction, other line ends, lone surrogates.
_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The same where JSON does not escape it, as UTF-8: a terminal does not know that it reads JSON.
_ACTIVE_BYTES = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]",
)


def harmless(text: str) -> str:
    """The text with every active character replaced by a visible one."""
    if text.isascii() and text.isprintable():  # most of what is said
        return text
    return _ACTIVE.sub(_seen, text.replace("\r\n", "\n"))


def harmless_line(text: str) -> str:
    """The same on one line, for titles and names."""
    return harmless(text).replace("\n", "␊").replace("\t", " ")


def harmless_json(encoded: bytes) -> bytes:
    """Encoded JSON with the same value and no active character in it."""
    return _ACTIVE_BYTES.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), encoded)


class HarmlessStream:
    """The same for text that comes in pieces: a line end may be cut in two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        self._held = ""
        if text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        return harmless(text)

    def finish(self) -> str:
        held, self._held = self._held, ""
        return harmless(held)


def _seen(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04x}"
