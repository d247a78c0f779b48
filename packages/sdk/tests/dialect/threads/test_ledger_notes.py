"""The ledger's words: the page has them all, the code uses them all, and none is made up elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path

import dragoman.dialect.threads
from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.threads.ledger_notes import LOST, REPAIRED, Lost, RepairNotes
from tests.dialect.ledger_pages import listed

PACKAGE = Path(dragoman.dialect.threads.__file__).parent


def test_the_list_has_exactly_what_is_lost_and_repaired() -> None:
    assert listed("threads") == [*map(tuple, LOST), *map(tuple, REPAIRED)]


def test_every_phrase_is_used_and_no_ledger_entry_is_made_without_one() -> None:
    used = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Attribute(value=ast.Name(id="Lost" | "RepairNotes"), attr=name):
                    used.add(name)
                case ast.Call(func=ast.Attribute(attr="note_loss" | "note_repair"), args=args):
                    assert path.name == "exchange.py", f"{path.name} speaks past `note`"
                    assert isinstance(args[0], ast.Starred)
    named = {
        name
        for kind in (Lost, RepairNotes)
        for name, value in vars(kind).items()
        if isinstance(value, LedgerNote)
    }
    assert used == named
