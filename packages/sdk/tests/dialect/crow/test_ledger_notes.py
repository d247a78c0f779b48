"""The ledger's words about crow: all in one place, all used, and all in the documentation."""

from __future__ import annotations

import ast
from pathlib import Path

from dragoman.dialect.crow import ledger_notes
from dragoman.dialect.crow.ledger_notes import ALL
from dragoman.dialect.ledger import LedgerNote
from tests.dialect.ledger_pages import listed


def sources() -> list[ast.Module]:
    folder = Path(ledger_notes.__file__).parent
    files = [path for path in folder.glob("*.py") if path.name != "ledger_notes.py"]
    return [ast.parse(path.read_text("utf-8")) for path in files]


def test_the_list_has_exactly_what_the_ledger_may_say() -> None:
    assert sorted(listed("crow")) == sorted(tuple(phrase) for phrase in ALL)


def test_every_phrase_is_used_and_nothing_is_said_in_other_words() -> None:
    nodes = [node for tree in sources() for node in ast.walk(tree)]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    known = {name for name, value in vars(ledger_notes).items() if isinstance(value, LedgerNote)}
    assert known - used == set()
    said = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    assert [
        node.lineno for node in said if getattr(node.func, "attr", "") in ("note_loss", "note_repair")
    ] == []


def test_no_two_phrases_are_about_the_same() -> None:
    assert len({(phrase.outcome, phrase.what) for phrase in ALL}) == len(ALL)
