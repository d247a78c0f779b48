"""Positions in a text, edits, and their diff. Pure.

A line ends at `\\n` and nowhere else, as editors and compilers count. (`str.splitlines` knows ten more ends,
which would move every finding behind a form feed.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from dragoman.text.diff import make_patch
from dragoman_review.finding import Edit, Finding, FindingPlace


class TextLines:
    """The lines of one text: from offsets to lines and columns, and back."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Each line begins behind the one before it, and its end; the last sum is where the text ends.
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column; a position outside the text becomes its nearest end."""
        if line < 1:
            return 0
        if line > len(self._starts):
            return len(self.text)
        return min(self._starts[line - 1] + max(column, 1) - 1, self._end(line))

    def line(self, number: int) -> str:
        """Return one line, without its end."""
        if not 1 <= number <= len(self._starts):
            return ""
        return self.text[self._starts[number - 1] : self._end(number)].rstrip("\r\n")

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets of the beginning of one line and the end of another; lines after the last are
        the last.
        """
        return self._starts[first - 1], self._end(min(last, len(self._starts)))

    def place(self, path: str, start: int, end: int) -> FindingPlace:
        line, column = self.position(start)
        end_line, end_column = self.position(max(start, end))
        return FindingPlace(path=path, line=line, column=column, end_line=end_line, end_column=end_column)

    def _end(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self.text)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text after some edits, which must be in order and must not overlap."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        if edit.start < at or edit.end < edit.start or edit.end > len(text):
            raise ValueError("edits overlap, or lie outside of the text")
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*parts, text[at:]))


class FixedText(NamedTuple):
    """A text after fixes."""

    text: str
    applied_findings: tuple[Finding, ...]
    conflicting_findings: tuple[Finding, ...]
    """Findings whose fixes overlap with another one. A new review finds them again."""


def apply_fixes(text: str, findings: Iterable[Finding], *, unsafe: bool = False) -> FixedText:
    """Return the text with the fixes of all findings that do not overlap."""
    candidates = [finding for finding in findings if finding.fix is not None and (unsafe or finding.fix.safe)]
    candidates.sort(key=_first_edit)
    edits: list[Edit] = []
    applied_findings: list[Finding] = []
    conflicting_findings: list[Finding] = []
    for candidate in candidates:
        assert candidate.fix is not None
        new_edits = _merge(edits, candidate.fix.edits, len(text))
        if new_edits is None:
            conflicting_findings.append(candidate)
        else:
            edits = new_edits
            applied_findings.append(candidate)
    return FixedText(apply_edits(text, edits), tuple(applied_findings), tuple(conflicting_findings))


def diff(path: str, before: str, after: str) -> str:
    """Return a unified diff; empty if nothing changed."""
    name = path.lstrip("/")
    return make_patch(f"a/{name}", _lines(before), f"b/{name}", _lines(after))


def _first_edit(finding: Finding) -> tuple[int, int]:
    assert finding.fix is not None
    starts = [edit.start for edit in finding.fix.edits]
    return (min(starts), finding.severity.rank) if starts else (0, finding.severity.rank)


def _merge(edits: Sequence[Edit], more: Sequence[Edit], size: int) -> list[Edit] | None:
    """Both, in order; None if they touch, because two insertions at one place have no order of their own.

    The same edit twice is one: several findings often want the same import removed.
    """
    keys = set(map(_key, edits))
    new = [edit for edit in more if _key(edit) not in keys]
    both = sorted([*edits, *new], key=lambda edit: (edit.start, edit.end))
    for first, second in pairwise(both):
        if second.start < first.end or second.start == first.start:
            return None
    return both if not both or both[-1].end <= size else None


def _key(edit: Edit) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.text


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
