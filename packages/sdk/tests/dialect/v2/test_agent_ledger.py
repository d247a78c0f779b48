"""The ledger's words about a v2 agent behind a v1 client: all in the documentation, and no others there."""

from __future__ import annotations

import ast
from pathlib import Path

from dragoman.dialect.v2 import agent
from tests.dialect.ledger_pages import listed

PACKAGE = Path(agent.__file__).parent
OUTCOMES = {"note_loss": "lost", "note_repair": "repaired"}


def said() -> set[tuple[str, ...]]:
    """Outcome, what and what is done, of each call that puts something down."""
    files = [*PACKAGE.glob("agent*.py"), *(PACKAGE / "to_v1").glob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return {
        (OUTCOMES[call.func.attr], *(ast.literal_eval(argument) for argument in call.args))
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in OUTCOMES
    }


def test_the_list_has_exactly_what_the_ledger_may_say() -> None:
    rows = listed("v2 behind a v1 client")
    assert set(rows) == said()
    assert len(rows) == len(set(rows)) > 50


def test_the_same_thing_is_never_said_in_two_ways() -> None:
    found = said()
    assert len({what for _, what, _ in found}) == len(found)
