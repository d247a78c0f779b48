"""Text as people and agents write it: the pages of `docs`, with their quotes and marks, cut into pieces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def pieces(size: int) -> Iterator[str]:
    """Pieces of so many characters without end; the text begins again when it is over."""
    text = "\n".join(path.read_text() for path in sorted(DOCS.glob("*.md")))
    doubled = text + text[:size]
    return (doubled[number * size % len(text) :][:size] for number in count())
