"""The sample of `tests/slow.py` holds every value, and the rest is marked."""

from __future__ import annotations

from itertools import product

from tests.slow import sampled


def test_every_value_is_in_the_sample_and_the_rest_is_slow() -> None:
    letters, digits = "abcde", (1, 2, 3)
    rows = sampled(letters, digits)
    assert [row.values for row in rows] == list(product(letters, digits))
    sample = [row.values for row in rows if not row.marks]
    assert len(sample) == 5
    assert {letter for letter, _ in sample} == set(letters)
    assert {digit for _, digit in sample} == set(digits)
    assert {mark.name for row in rows for mark in row.marks} == {"slow"}


def test_one_parameter_is_its_own_sample() -> None:
    assert [row.marks for row in sampled("abc")] == [[], [], []]
