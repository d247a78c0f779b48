"""Changes of texts as lines: what goes, what comes, and a little of what stays.

Signs as well as colours, because not every terminal has colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from textual.content import Content

from dragoman.text.diff import changed_lines
from dragoman.text.sanitize import sanitize
from dragoman_app.tui.text.lines import plain, wrap_content

ADDED = "$text-success"
REMOVED = "$text-error"


class CountedChange(NamedTuple):
    """A change of one text."""

    lines: list[str]
    added_lines: int
    removed_lines: int


@lru_cache(maxsize=32)
def count_changes(old: str | None, new: str) -> CountedChange:
    """The lines of a unified diff, without the names of files. A tool call is drawn many times, and its
    change is the same each time.
    """
    lines = changed_lines(old, new)
    signs = [line[:1] for line in lines]
    return CountedChange(lines, added_lines=signs.count("+"), removed_lines=signs.count("-"))


def diff_lines(lines: Iterable[str], width: int) -> Iterator[Content]:
    """Lines of a diff, styled and wrapped."""
    for line in lines:
        yield from wrap_content(plain(sanitize(line).expandtabs(4).replace("\n", "␊"), _style(line)), width)


def patch_lines(patch: str, width: int) -> Iterator[Content]:
    """A patch of a file as it is stored, with its headings."""
    yield from diff_lines(patch.removesuffix("\n").split("\n"), width)


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "old mode", "new mode")):
        return "bold"
    return {"+": ADDED, "-": REMOVED, "@": "dim"}.get(line[:1], "")
