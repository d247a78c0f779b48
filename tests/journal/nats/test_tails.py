"""Marks of where entries lie: near enough, and never too many."""

from __future__ import annotations

from dragoman.journal.nats.tails import MARK_ENTRIES, MARKS, Marks


def test_the_nearest_mark_before_an_entry_is_found() -> None:
    marks = Marks(1)
    for number in (4, 1, 3, 2):
        marks.learn(number * MARK_ENTRIES, number * 10)
    assert marks.below(1) == (1, 1)
    assert marks.below(2 * MARK_ENTRIES) == (2 * MARK_ENTRIES, 20)
    assert marks.below(3 * MARK_ENTRIES - 1) == (2 * MARK_ENTRIES, 20)
    assert marks.below(10**9) == (4 * MARK_ENTRIES, 40)


def test_marks_keep_their_distance_and_their_number() -> None:
    marks = Marks(1)
    for first in range(1, 3 * MARKS * MARK_ENTRIES, MARK_ENTRIES // 4):
        marks.learn(first, first)
    assert len(marks.firsts) <= MARKS
    assert marks.firsts == sorted(marks.firsts)
    assert min(b - a for a, b in zip(marks.firsts, marks.firsts[1:], strict=False)) >= MARK_ENTRIES
