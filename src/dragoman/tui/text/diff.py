"""Changes of texts as lines: what goes, what comes, and a little of what stays.

Signs as well as colours, because not every terminal has colours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from textual.content import Content

from dragoman.text.sanitize import sanitize
from dragoman.tui.text.lines import plain, wrapped

MOST_WORK = 2_000_000
"""Lines times lines that are compared; above it old and new stand one after the other."""

ADDED = "$text-success"
REMOVED = "$text-error"


class Counted(NamedTuple):
    """A change of one text."""

    lines: list[str]
    added: int
    removed: int


@lru_cache(maxsize=32)
def compared(old: str | None, new: str) -> Counted:
    """The lines of a unified diff, without the names of files. A tool call is drawn many times, and its
    change is the same each time.
    """
    before, after = _lines(old or ""), _lines(new)
    if len(before) * len(after) > MOST_WORK:
        found = [*(f"-{one}" for one in before), *(f"+{one}" for one in after)]
    else:
        # The first two lines name files; a changed line may look like them.
        found = list(islice(difflib.unified_diff(before, after, lineterm=""), 2, None))
    return Counted(found, sum(one[:1] == "+" for one in found), sum(one[:1] == "-" for one in found))


def diff_lines(lines: Iterable[str], width: int) -> Iterator[Content]:
    """Lines of a diff, styled and wrapped."""
    for one in lines:
        yield from wrapped(plain(sanitize(one).expandtabs(4).replace("\n", "␊"), _style(one)), width)


def patch_lines(patch: str, width: int) -> Iterator[Content]:
    """A patch of a file as it is stored, with its headings."""
    yield from diff_lines(patch.removesuffix("\n").split("\n"), width)


def _style(one: str) -> str:
    if one.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "old mode", "new mode")):
        return "bold"
    return {"+": ADDED, "-": REMOVED, "@": "dim"}.get(one[:1], "")


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
