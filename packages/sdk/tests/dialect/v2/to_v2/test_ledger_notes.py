"""The ledger's words about a v2 client before a v1 agent: all used, and all in the documentation."""

from __future__ import annotations

import ast
from pathlib import Path

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.v2.to_v2 import ledger_notes
from dragoman.dialect.v2.to_v2.ledger_notes import LEDGER_NOTES
from tests.dialect.ledger_pages import listed

PACKAGE = Path(ledger_notes.__file__).parents[1]

Row = tuple[str, str, str]

OUTCOMES = {"note_loss": "lost", "note_repair": "repaired"}


def said(file: str, *functions: str) -> set[Row]:
    """What a module of values in v1 tells, or some functions of it."""
    tree = ast.parse((PACKAGE / "to_v1" / file).read_text("utf-8"))
    tops = [node for node in tree.body if not functions or getattr(node, "name", "") in functions]
    calls = [node for top in tops for node in ast.walk(top) if isinstance(node, ast.Call)]
    found = set()
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in OUTCOMES:
            what, action = [node.value for node in call.args if isinstance(node, ast.Constant)]
            found.add((OUTCOMES[call.func.attr], str(what), str(action)))
    return found


def test_the_list_has_exactly_what_the_ledger_may_say() -> None:
    rows = listed("v2 before a v1 agent")
    ours = {tuple(note) for note in LEDGER_NOTES}
    assert set(rows) == ours | said("content.py") | said("fields.py") | said("permission.py", "outcome")
    assert len(rows) == len(set(rows))


def test_every_remark_is_made_somewhere() -> None:
    files = [*PACKAGE.glob("client*.py"), *(PACKAGE / "to_v2").glob("*.py")]
    trees = [ast.parse(file.read_text("utf-8")) for file in files if file.name != "remarks.py"]
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    known = {name for name, value in vars(ledger_notes).items() if isinstance(value, LedgerNote)}
    assert known - used == set()


def test_no_two_remarks_are_about_the_same() -> None:
    assert len({remark.what for remark in LEDGER_NOTES}) == len(LEDGER_NOTES) > 30
