"""Finds the strings and comments of a TOML text, so that their contents are not read as keys or tables.

Whoever parses a text with `tomllib` learns what it says and not where. Here no text is wrong; a string that
is never closed ends with the text.
"""

from __future__ import annotations

from collections.abc import Iterator

_QUOTES = ('"""', "'''", '"', "'")


def toml_pieces(text: str, at: int = 0) -> Iterator[tuple[int, str]]:
    """Yield each string with its quotes, and each character between strings, with its position, starting
    outside strings. Comments are left out.
    """
    while at < len(text):
        quote = next((quote for quote in _QUOTES if text.startswith(quote, at)), None)
        if quote is not None:
            end = _end_of_string(text, at + len(quote), quote)
            yield at, text[at:end]
            at = end
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            yield at, text[at]
            at += 1


def toml_skeleton(text: str) -> str:
    """Return the text without comments, and with only the line ends in its strings."""
    return "".join(
        piece[0] + "\n" * piece.count("\n") + piece[0] if piece[0] in "\"'" else piece
        for _, piece in toml_pieces(text)
    )


def _end_of_string(text: str, at: int, quote: str) -> int:
    while at < len(text):
        if text[at] == "\\" and quote[0] == '"':
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return len(text)
