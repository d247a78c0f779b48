"""The page of the dialect lists exactly what its edges put into the ledger."""

from __future__ import annotations

from dragoman.dialect.haven import names
from tests.dialect.ledger_pages import in_the_code, on_the_page


def test_the_page_lists_what_is_lost_and_what_is_repaired() -> None:
    assert on_the_page("haven", "What is lost") == list(names.LOST)
    assert on_the_page("haven", "What is repaired") == list(names.REPAIRED)


def test_every_remark_is_made_somewhere_and_no_other() -> None:
    assert {getattr(names, name) for name in in_the_code("haven", "note_loss")} == set(names.LOST)
    assert {getattr(names, name) for name in in_the_code("haven", "note_repair")} == set(names.REPAIRED)
