"""How wide a text is on a terminal, which counts cells and not characters."""

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


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # drawn over what stands before it
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
