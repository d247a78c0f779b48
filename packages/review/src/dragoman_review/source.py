"""The input of a review, and its messages besides findings. Plain values.

Apart from `finding`, so that whoever lists and reads files loads nothing that judges them.
"""

from __future__ import annotations

from typing import NamedTuple


class ReviewSource(NamedTuple):
    """One text to review, as given: nothing is ever read from its path."""

    path: str
    """The path in findings; its name gives the language."""
    text: str
    changed_lines: frozenset[int] | None = None
    """The lines to report on, or None for all of them."""
    untrusted_lines: frozenset[int] | None = frozenset()
    """Lines, or None for all of them, in which no comment suppresses a rule: they are part of a change that
    is reviewed against a base, and a change must not suppress its own review.
    """


class ReviewNote(NamedTuple):
    """A message for the reader of the findings: texts that were not reviewed, and tools that failed."""

    path: str | None
    text: str
    is_failure: bool = False
    """Whether a tool failed, so that findings may be missing."""
