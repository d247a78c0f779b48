"""The most pairs of lines to compare; above this limit the old and the new text follow each other."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

MOST_WORK = 2_000_000
"""Return the lines of a unified diff, without file names and line ends. A missing line end after the last
line makes no difference.
"""


def changed_lines(old: str | None, new: str, *, most_work: int = MOST_WORK) -> list[str]:
    """Split a text into lines without their ends; only `\\n` ends a line."""
    before, after = split_lines(old or ""), split_lines(new)
    if len(before) * len(after) > most_work:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    # The first two lines name files; a changed line may look like them.
    return list(islice(difflib.unified_diff(before, after, lineterm=""), 2, None))


def split_lines(text: str) -> list[str]:
    """Return a patch for programs, from lines with their ends; empty if nothing changed."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def make_patch(old_name: str, before: Iterable[str], new_name: str, after: Iterable[str]) -> str:
    """A patch as programs read it, from lines with their ends; empty if nothing changed."""
    lines = difflib.unified_diff(list(before), list(after), old_name, new_name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
