"""The ledger: each kind of thing once, counted, with its first frame."""

from __future__ import annotations

from dragoman.dialect import Ledger, LedgerEntry


def test_each_kind_of_thing_stands_there_once_with_how_often_and_where() -> None:
    ledger = Ledger()
    ledger.frame = 3
    ledger.note_loss("a title", "left out", dialect="haven")
    ledger.frame = 7
    ledger.note_repair("a kind", "guessed", dialect="haven")
    ledger.note_loss("a title", "left out", dialect="haven")
    assert ledger.entries == [
        LedgerEntry(outcome="lost", dialect="haven", what="a title", done="left out", count=2, first_frame=3),
        LedgerEntry(
            outcome="repaired", dialect="haven", what="a kind", done="guessed", count=1, first_frame=7
        ),
    ]


def test_the_same_words_of_another_dialect_or_outcome_are_another_entry() -> None:
    ledger = Ledger()
    ledger.note_loss("a title", "left out", dialect="haven")
    ledger.note_loss("a title", "left out", dialect="crow")
    ledger.note_repair("a title", "made up", dialect="haven")
    assert [(entry.outcome, entry.dialect) for entry in ledger.entries] == [
        ("lost", "haven"),
        ("lost", "crow"),
        ("repaired", "haven"),
    ]


def test_only_losses_are_reported_and_each_kind_once() -> None:
    heard: list[LedgerEntry] = []
    ledger = Ledger(on_loss=heard.append)
    ledger.note_repair("a kind", "guessed", dialect="haven")
    ledger.note_loss("a title", "left out", dialect="haven")
    ledger.note_loss("a title", "left out", dialect="haven")
    assert [entry.what for entry in heard] == ["a title"]
    assert heard[0].count == 1


def test_what_was_given_out_does_not_change_afterwards() -> None:
    ledger = Ledger()
    ledger.note_loss("a title", "left out", dialect="haven")
    before = ledger.entries
    ledger.note_loss("a title", "left out", dialect="haven")
    ledger.note_loss("a name", "left out", dialect="haven")
    assert [(entry.what, entry.count) for entry in before] == [("a title", 1)]
