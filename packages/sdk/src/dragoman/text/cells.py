"""The width of a text on a terminal, which counts cells and not characters, and how to wrap it."""

from __future__ import annotations

import unicodedata


def cell_width(text: str) -> int:
    """Cells of a text on one line."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def fit(text: str, width: int) -> str:
    """Cut or filled to its width; a negative width puts the text at the right end."""
    room = abs(width)
    if cell_width(text) > room:
        while cell_width(text) > room - 1:
            text = text[:-1]
        text += "…"
    gap = " " * (room - cell_width(text))
    return gap + text if width < 0 else text + gap


def word_breaks(text: str, width: int) -> list[int]:
    """Where the lines of an ASCII text begin, but for the first, when it is wrapped: at words if possible."""
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
