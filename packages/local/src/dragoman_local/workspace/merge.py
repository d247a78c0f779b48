"""Merges two changed texts with their common base, line by line.

Pure, and bounded: texts that differ in more than a thousand lines are not merged. Where both sides changed
the same lines, or lines that touch, there is no merge; nothing is ever marked inside a file.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman_local.workspace.text import lines_of

MOST_EDITS = 1000
"""The most lines that may be added or removed between the base and one side; the work
grows with its square.
"""


class CommonRun(NamedTuple):
    """A run of lines that two texts share."""

    left: int
    right: int
    length: int


class _Common(NamedTuple):
    """A run of lines that all three have in common."""

    base: int
    ours: int
    theirs: int
    length: int


def merge(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes of both sides, or None if they conflict."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    a, b, c = lines_of(base), lines_of(ours), lines_of(theirs)
    to_ours, to_theirs = common_runs(a, b), common_runs(a, c)
    if to_ours is None or to_theirs is None:
        return None
    merged_lines: list[str] = []
    at = _Common(0, 0, 0, 0)
    for run in (*_common(to_ours, to_theirs), _Common(len(a), len(b), len(c), 0)):
        between = _between(a[at.base : run.base], b[at.ours : run.ours], c[at.theirs : run.theirs])
        if between is None:
            return None
        merged_lines += between
        merged_lines += a[run.base : run.base + run.length]
        at = _Common(run.base + run.length, run.ours + run.length, run.theirs + run.length, 0)
    return "".join(merged_lines)


def _between(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Lines between two runs that are common to all."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def _common(to_ours: Sequence[CommonRun], to_theirs: Sequence[CommonRun]) -> Iterator[_Common]:
    """Where a run of our text overlaps a run of theirs, by lines of the base."""
    i = j = 0
    while i < len(to_ours) and j < len(to_theirs):
        our_run, their_run = to_ours[i], to_theirs[j]
        begin = max(our_run.left, their_run.left)
        end = min(our_run.left + our_run.length, their_run.left + their_run.length)
        if begin < end:
            yield _Common(
                begin,
                our_run.right + begin - our_run.left,
                their_run.right + begin - their_run.left,
                end - begin,
            )
        if our_run.left + our_run.length <= their_run.left + their_run.length:
            i += 1
        else:
            j += 1


def common_runs(
    left: Sequence[str], right: Sequence[str], *, most: int = MOST_EDITS
) -> list[CommonRun] | None:
    """Return the runs of a shortest way from one text to the other, or None if that is too long."""
    head = _length_of_common_head(left, right)
    tail = _length_of_common_head(left[head:][::-1], right[head:][::-1])
    inner = _shortest(left[head : len(left) - tail], right[head : len(right) - tail], most)
    if inner is None:
        return None
    runs = [CommonRun(0, 0, head), *(CommonRun(a + head, b + head, n) for a, b, n in inner)]
    runs.append(CommonRun(len(left) - tail, len(right) - tail, tail))
    return [run for run in runs if run.length]


def _length_of_common_head(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for left_line, right_line in zip(left, right, strict=False):
        if left_line != right_line:
            break
        count += 1
    return count


def _shortest(left: Sequence[str], right: Sequence[str], most: int) -> list[CommonRun] | None:
    """Myers' greedy search: after so many edits, the furthest point on each diagonal."""
    most = min(most, len(left) + len(right))
    furthest = array("l", bytes((2 * most + 3) * array("l").itemsize))  # diagonal 0 is in the middle
    middle = most + 1
    history: list[array[int]] = []
    for edits in range(most + 1):
        history.append(furthest[middle - edits - 1 : middle + edits + 2])
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(furthest, middle, diagonal, edits)[1]
            y = x - diagonal
            while x < len(left) and y < len(right) and left[x] == right[y]:
                x, y = x + 1, y + 1
            furthest[middle + diagonal] = x
            if x >= len(left) and y >= len(right):
                return _trace_runs(history, len(left), len(right))
    return None


def _step(furthest: array[int], middle: int, diagonal: int, edits: int) -> tuple[int, int]:
    """From which diagonal this one is reached best, and at which point."""
    below, above = furthest[middle + diagonal - 1], furthest[middle + diagonal + 1]
    if diagonal == -edits or (diagonal != edits and below < above):
        return diagonal + 1, above
    return diagonal - 1, below + 1


def _trace_runs(history: list[array[int]], x: int, y: int) -> list[CommonRun]:
    """The runs of equal lines on the way that was found, from its end back to its start."""
    runs: list[CommonRun] = []
    for edits in range(len(history) - 1, -1, -1):
        furthest, middle = history[edits], edits + 1
        before, start = _step(furthest, middle, x - y, edits)
        if x > start:
            runs.append(CommonRun(start, start - (x - y), x - start))
        x = furthest[middle + before]
        y = x - before
    return runs[::-1]
