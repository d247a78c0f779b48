"""The table of `table.py`: what is chosen of it, and that the expectation says what docs/policy.md does."""

from __future__ import annotations

from tests.every import every
from tests.hub.consent.table import (
    EDGES,
    NARROW_TOKEN,
    Row,
    all_rows,
    chosen_rows,
    expected_marks,
    narrow_holder,
)
from tests.pairwise import pairs_in


def test_every_pair_of_values_is_in_a_chosen_row() -> None:
    possible = {pair for row in all_rows() for pair in pairs_in(row._asdict())}
    assert {pair for row in chosen_rows() for pair in pairs_in(row._asdict())} == possible


def test_every_edge_has_rows_with_an_effect_and_without() -> None:
    found = {(row.edge, bool(expected_marks(row))) for row in chosen_rows()}
    assert found == {(edge, has_effect) for edge in EDGES for has_effect in (True, False)}


def test_each_narrow_token_is_tried() -> None:
    rows = [row for row in chosen_rows() if row.circumstance == NARROW_TOKEN and row.is_asked]
    assert {narrow_holder(row) for row in rows} == {"observer", "approver", "stranger"}


@every(
    ("row", "marks"),
    [
        (Row("v1", "nothing", "once", "write shown", "same", announced=False), {"first"}),
        (Row("v1", "twice", "once", "write shown", "same", announced=False), {"first"}),
        (Row("v1", "next turn", "once", "write shown", "same", announced=False), set()),
        (Row("v1", "asked again", "once", "run shown", "same", announced=False), set()),
        (Row("v1", "nothing", "once", "write shown", "text", announced=False), set()),
        (Row("v1", "twice", "always", "write shown", "text", announced=False), {"first", "second"}),
        (Row("v1", "nothing", "always", "run shown", "folder", announced=False), set()),
        (Row("v1", "nothing", "rule denies", "run shown", "same", announced=False), set()),
        (Row("v1", "nothing", "nobody", "own", "same", announced=False), set()),
        (Row("v1", "nothing", "rule allows", "read outside", "same", announced=False), set()),
    ],
)
def test_what_is_expected_is_what_was_decided(row: Row, marks: set[str]) -> None:
    assert expected_marks(row) == marks
