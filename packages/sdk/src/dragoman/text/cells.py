"""The width of a text on a terminal, which counts cells and not characters, and how to wrap it."""

from __future__ import annotations

import unicodedata


def cell_width(text: str) -> int:
    """Return the cells of a text on one line."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def fit(text: str, width: int) -> str:
    """Cut or pad a text to a width; a negative width aligns it at the right."""
    room = abs(width)
    if cell_width(text) > room:
        while cell_width(text) > room - 1:
            text = text[:-1]
        text += "…"
    gap = " " * (room - cell_width(text))
    return gap + text if width < 0 else text + gap


def word_breaks(text: str, width: int) -> list[int]:
    """Return where the lines of a wrapped ASCII text begin, except the first: at words if possible."""
    breaks: list[int] = []
    at = 0
    while len(text) - at > width:
        space = text.rfind(" ", at, at + width + 1)
        at = space + 1 if space > at else at + width
        breaks.append(at)
    return breaks


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # drawn over what stands before it
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
