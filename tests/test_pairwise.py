"""The generator of pairwise covers."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.pairwise import pairs_in, pairs_of, pairwise

PARAMETERS = {"size": ["s", "m", "l"], "colour": ["red", "blue"], "cloth": ["wool", "silk", "linen", "felt"]}


def test_every_pair_is_in_a_row_and_there_are_few_rows() -> None:
    rows = pairwise(PARAMETERS)
    assert {pair for row in rows for pair in pairs_in(row)} == set(pairs_of(PARAMETERS))
    assert len(rows) <= 14  # of 24; 12 is the least
    assert rows == pairwise(PARAMETERS)


def test_rows_are_valid_and_every_pair_that_can_be_is_in_one() -> None:
    def is_valid(row: dict[str, Any]) -> bool:
        return not (row["cloth"] == "silk" and row["colour"] == "red")

    rows = pairwise(PARAMETERS, is_valid)
    assert all(map(is_valid, rows))
    all_rows = [dict(zip(PARAMETERS, values, strict=True)) for values in product(*PARAMETERS.values())]
    possible = {pair for row in filter(is_valid, all_rows) for pair in pairs_in(row)}
    assert {pair for row in rows for pair in pairs_in(row)} == possible
