"""Repairs JSON text whose `\\u` escapes name half a character.

Programs that cut strings in the middle of a pair send such halves. They are no characters, so no UTF-8 can
hold them; each becomes U+FFFD, the replacement character, and the rest of the message is saved.
"""

from __future__ import annotations

import re

# One escape sequence at a time, so that an escaped backslash before a `u` is not taken for the start of one.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.S
)


def mend_surrogates(text: bytes) -> bytes:
    """Return the same JSON text without lone surrogates."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found.group(1) else found.group(), text)
