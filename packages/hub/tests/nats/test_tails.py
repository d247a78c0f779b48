"""Marks of where entries lie: near enough, and never too many."""

from __future__ import annotations

from dragoman_hub.nats.tails import MARK_ENTRIES, MARKS, MessageMarks


def test_the_nearest_marks_before_and_behind_an_entry_are_found() -> None:
    marks = MessageMarks(1)
    for number in (4, 1, 3, 2):
        marks.learn(number * MARK_ENTRIES, number * 10)
    one, two, three, four = ((number * MARK_ENTRIES, number * 10) for number in (1, 2, 3, 4))
    end = (10 * MARK_ENTRIES, 100)
    assert marks.around(1, end=end) == ((1, 1), one)
    assert marks.around(2 * MARK_ENTRIES, end=end) == (two, three)
    assert marks.around(3 * MARK_ENTRIES - 1, end=end) == (two, three)
    assert marks.around(9 * MARK_ENTRIES, end=end) == (four, end)
    assert MessageMarks(1).around(7, end=end) == ((1, 1), end)


def test_marks_keep_their_distance_and_their_number() -> None:
    marks = MessageMarks(1)
    for first in range(1, 3 * MARKS * MARK_ENTRIES, MARK_ENTRIES // 4):
        marks.learn(first, first)
    assert len(marks.firsts) <= MARKS
    assert marks.firsts == sorted(marks.firsts)
    assert min(b - a for a, b in zip(marks.firsts, marks.firsts[1:], strict=False)) >= MARK_ENTRIES
