"""Text of an agent, as a grid of cells can show it.

What moves a cursor, turns the direction of writing, or cannot be seen at all becomes something that can be
seen; line breaks and tabs stay, and nothing is dropped. Joiners and variation selectors stay too, because
letters of many languages and pictures need them.
"""

from __future__ import annotations

import re

# C0 without tab and newline, DEL, C1, soft hyphen; marks, overrides and isolates of direction; spaces without
# width and invisible operators; other line ends; lone surrogates; annotations and tags.
_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def harmless(text: str) -> str:
    """The text with every active character replaced by visible ones."""
    if text.isascii() and text.isprintable():
        return text
    return _ACTIVE.sub(_seen, text.replace("\r\n", "\n"))


def harmless_line(text: str) -> str:
    """The same on one line, for titles and names."""
    return harmless(text).replace("\n", "␊").replace("\t", " ")


def _seen(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
