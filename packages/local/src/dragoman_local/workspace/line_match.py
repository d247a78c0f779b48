"""Matches lines of new texts with lines of old ones: unchanged, rewritten, or moved.

Pure. A line that cannot be told for certain is not matched, or is named as unclear: whoever asks says whose
it is then. Three steps, each for what the one before has left:

1. Lines that are alike, in their order, around lines that there are once (patience).
2. Runs of whole lines that say the same, whatever their spaces, quotes, line breaks and the commas and
   parentheses that come with these: what a formatter does. They may have moved, also to another file.
3. Runs that were removed earlier, if they are long: what was taken away and comes back.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from dragoman_local.workspace.merge import CommonRun

Mark = TypeVar("Mark")
"""Information about a line, such as who wrote it."""

IN_PLACE = 12
MOVED = 24
RETURNED = 40
"""The least letters and digits of a run: at the place of removed lines, elsewhere, or long after the removal.
Shorter ones may be equal by chance.
"""

ISLAND = 12
"""The least letters and digits of equal lines between other changes; fewer prove nothing."""

MOST_CANDIDATES = 40
"""The most places in which to search a run. More frequent lines distinguish nothing."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_BEFORE_LAYOUT = frozenset(
    {"=", "return", "in", "if", "elif", "while", "assert", "yield", "and", "or", "not"}
)
_WORD = re.compile(r"\w")


class Run(NamedTuple):
    """Consecutive lines of one text, as tokens."""

    path: str
    gap: int
    """The number of the replaced place in this text; -1 for a run of earlier."""
    first: int
    tokens: list[str]
    starts: list[int]
    """The positions of each line among the tokens, and their end."""
    ends: frozenset[int]


def make_run(path: str, gap: int, first: int, lines: Sequence[str]) -> Run:
    """Return the tokens of some lines, without those that only affect the layout."""
    rows = [['"' if word == "'" else word for word in _TOKEN.findall(line)] for line in lines]
    dropped: set[tuple[int, int]] = set()
    stack: list[tuple[int, int] | None] = []
    last: tuple[int, int] | None = None  # the token before, in whichever line
    for number, row in enumerate(rows):
        for place, token in enumerate(row):
            if token in _OPEN:
                is_layout = row[place:] == ["("] and place > 0
                stack.append((number, place) if is_layout and row[place - 1] in _BEFORE_LAYOUT else None)
            elif token in _CLOSE:
                if place == 0 and last is not None and rows[last[0]][last[1]] == ",":
                    dropped.add(last)
                opened = stack.pop() if stack else None
                if opened is not None and place == 0:
                    dropped |= {opened, (number, place)}
            last = (number, place)
    tokens: list[str] = []
    starts: list[int] = []
    for number, row in enumerate(rows):
        starts.append(len(tokens))
        tokens += [token for place, token in enumerate(row) if (number, place) not in dropped]
    starts.append(len(tokens))
    return Run(path, gap, first, tokens, starts, frozenset(starts))


def same_lines(old: Sequence[str], new: Sequence[str]) -> list[CommonRun]:
    """Return runs of equal lines, in order, around lines that both texts have once."""
    runs: list[CommonRun] = []
    spans = [(0, len(old), 0, len(new))]
    while spans:
        left, left_end, right, right_end = spans.pop()
        head = _alike(old[left:left_end], new[right:right_end])
        runs.append(CommonRun(left, right, head))
        left, right = left + head, right + head
        tail = _alike(old[left:left_end][::-1], new[right:right_end][::-1])
        left_end, right_end = left_end - tail, right_end - tail
        runs.append(CommonRun(left_end, right_end, tail))
        if left == left_end or right == right_end:
            continue
        anchors = _anchors(old[left:left_end], new[right:right_end])
        at_left, at_right = left, right
        for anchor_left, anchor_right in anchors:
            if (left + anchor_left, right + anchor_right) != (at_left, at_right):
                spans.append((at_left, left + anchor_left, at_right, right + anchor_right))
            runs.append(CommonRun(left + anchor_left, right + anchor_right, 1))
            at_left, at_right = left + anchor_left + 1, right + anchor_right + 1
        if anchors:
            spans.append((at_left, left_end, at_right, right_end))
    return joined_runs(sorted(run for run in runs if run.length))


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """With how many lines two texts begin alike."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
    return low


def joined_runs(runs: list[CommonRun]) -> list[CommonRun]:
    joined: list[CommonRun] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last is not None and (last.left + last.length, last.right + last.length) == run[:2]:
            joined[-1] = last._replace(length=last.length + run.length)
        else:
            joined.append(run)
    return joined


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that both have once, as many as keep their order."""
    counts, places = Counter(old), {line: number for number, line in enumerate(old)}
    news = Counter(new)
    common = [
        (places[line], number) for number, line in enumerate(new) if news[line] == 1 and counts.get(line) == 1
    ]
    tails: list[int] = []
    chain: list[int] = []  # of each length, which pair ends the chain
    before: list[int] = []
    for number, (place, _) in enumerate(common):
        length = bisect_left(tails, place)
        tails[length : length + 1] = [place]
        chain[length : length + 1] = [number]
        before.append(chain[length - 1] if length else -1)
    found: list[tuple[int, int]] = []
    number = chain[-1] if chain else -1
    while number >= 0:
        found.append(common[number])
        number = before[number]
    return found[::-1]


def sure_pairs(runs: Iterable[CommonRun], old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the equal lines that both texts have once, in order: these are the same ones."""
    counts, news = Counter(old), Counter(new)
    return [
        (left, right)
        for run in runs
        for left, right in zip(range(run.left, run.left + run.length), count(run.right))
        if counts[old[left]] == 1 == news[old[left]]
    ]


def is_island(
    above: CommonRun, run: CommonRun, below: CommonRun, new: Sequence[str], sure: Container[int]
) -> bool:
    """Whether a run between changed lines has none of the sure lines of the old text, or is short where lines
    were removed: such lines are everywhere, and may be new.
    """
    above_end = above.left + above.length, above.right + above.length
    end = run.left + run.length, run.right + run.length
    is_short = letters("".join(new[run.right : end[1]])) < ISLAND
    may_be_new = is_short and (above_end[0] < run.left or end[0] < below.left)
    is_between = run[:2] != above_end and end != below[:2]
    return is_between and (may_be_new or not any(left in sure for left in range(run.left, end[0])))


def unclear_lines(
    runs: Iterable[CommonRun], old: Sequence[str], new: Sequence[str], sure: Iterable[tuple[int, int]]
) -> Iterator[tuple[list[int], list[int]]]:
    """Return the places of equal lines between two sure ones of which there are more or fewer than before, or
    which changed their order: it is unknown which is which.
    """
    kept = {place for run in runs for place in range(run.right, run.right + run.length)}
    at_left = at_right = 0
    for left, right in (*sure, (len(old), len(new))):
        if old[at_left:left] != new[at_right:right]:
            places: dict[str, tuple[list[int], list[int]]] = {}
            for side, text, numbers in ((0, old, range(at_left, left)), (1, new, range(at_right, right))):
                for number in numbers:
                    places.setdefault(text[number], ([], []))[side].append(number)
            for line, (lefts, rights) in places.items():
                is_both = bool(line.strip() and lefts and rights)
                if is_both and (len(lefts) != len(rights) or not kept.issuperset(rights)):
                    yield lefts, rights
        at_left, at_right = left + 1, right + 1


def letters(text: str) -> int:
    return len(_WORD.findall(text))


class RemovedLines(Generic[Mark]):
    """Removed runs, with the information about each of their lines."""

    def __init__(self) -> None:
        self._runs: list[tuple[Run, Sequence[Mark]]] = []
        self._index: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        self._used: set[tuple[int, int]] = set()
        self._earlier = 0
        """How many runs are of earlier looks."""

    def add(self, run: Run, marks: Sequence[Mark]) -> None:
        self._runs.append((run, marks))
        for line, start in enumerate(run.starts[:-1]):
            if run.starts[line + 1] > start:
                key = tuple(run.tokens[start : start + 3])
                self._index.setdefault(key, []).append((len(self._runs) - 1, line))

    def age(self) -> None:
        """Mark the lines removed so far as removed earlier."""
        self._earlier = len(self._runs)

    def find(self, run: Run) -> Iterator[tuple[int, Sequence[Mark], bool, bool]]:
        """Find lines of a new run that were removed, by their positions in it, each with the information
        about the original lines, whether these were removed earlier, and whether they were at its place.
        """
        line = 0
        while line < len(run.starts) - 1:
            start = run.starts[line]
            best = None if run.starts[line + 1] == start else self._best(run, line)
            if best is None:
                line += 1
                continue
            number, old_line, length = best
            old, marks = self._runs[number]
            shift = old.starts[old_line] - start
            end = start + length
            while line < len(run.starts) - 1 and run.starts[line] < end:
                span = (run.starts[line] + shift, run.starts[line + 1] + shift)
                first = bisect_right(old.starts, span[0]) - 1
                sources = [*range(first, bisect_left(old.starts, span[1], lo=first))]
                self._used.update((number, place) for place in sources)
                if sources:
                    is_here = number >= self._earlier and (old.path, old.gap) == (run.path, run.gap)
                    yield line, [marks[place] for place in sources], number < self._earlier, is_here
                line += 1

    def _best(self, run: Run, line: int) -> tuple[int, int, int] | None:
        """The longest run of removed lines that says what this one says from a line on."""
        start = run.starts[line]
        candidates = self._index.get(tuple(run.tokens[start : start + 3]), ())
        best: tuple[tuple[int, int], tuple[int, int, int]] | None = None
        for number, old_line in candidates[-MOST_CANDIDATES:]:
            if (number, old_line) in self._used:
                continue
            old = self._runs[number][0]
            length = self._common(run, start, old, number, old_line)
            size = letters("".join(run.tokens[start : start + length]))
            in_place = (old.path, old.gap) == (run.path, run.gap) and number >= self._earlier
            least = IN_PLACE if in_place else MOVED if number >= self._earlier else RETURNED
            is_all = in_place and length == len(run.tokens) == len(old.tokens)
            if length and (size >= least or is_all):
                rank = (length, int(in_place) + int(number >= self._earlier))
                if best is None or rank > best[0]:
                    best = rank, (number, old_line, length)
        return None if best is None else best[1]

    def _common(self, run: Run, start: int, old: Run, number: int, old_line: int) -> int:
        """How many tokens both have alike from here on, up to an end of a line on both sides."""
        old_start, found = old.starts[old_line], 0
        limit = len(old.tokens)
        for place in range(old_line, len(old.starts) - 1):
            if (number, place) in self._used:
                limit = old.starts[place]
                break
        most = min(len(run.tokens) - start, limit - old_start)
        for length in range(1, most + 1):
            if run.tokens[start + length - 1] != old.tokens[old_start + length - 1]:
                break
            if start + length in run.ends and old_start + length in old.ends:
                found = length
        return found
