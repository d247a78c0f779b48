"""The list of losses has exactly what its edges put into the ledger."""

from __future__ import annotations

from dragoman.dialect.koog import names
from tests.dialect.ledger_pages import in_the_code, listed


def test_the_list_has_what_is_lost_and_what_is_repaired() -> None:
    lost = [("lost", *words) for words in names.LOST]
    assert listed("koog") == [*lost, *(("repaired", *words) for words in names.REPAIRED)]


def test_every_remark_is_made_somewhere_and_no_other() -> None:
    assert {getattr(names, name) for name in in_the_code("koog", "note_loss")} == set(names.LOST)
    assert {getattr(names, name) for name in in_the_code("koog", "note_repair")} == set(names.REPAIRED)
