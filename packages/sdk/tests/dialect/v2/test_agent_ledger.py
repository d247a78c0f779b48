"""The ledger's words about a v2 agent behind a v1 client: all in the documentation, and no others there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from dragoman.dialect.v2 import agent

PAGE = Path(__file__).parents[5] / "docs" / "dialects" / "v2.md"
PACKAGE = Path(agent.__file__).parent
HEADING = "### What is lost and repaired behind a v1 client"
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


def test_the_page_lists_exactly_what_the_ledger_may_say() -> None:
    _, part = PAGE.read_text("utf-8").split(HEADING)
    rows = re.findall(r"(?m)^\| (lost|repaired) \| (.+) \| (.+) \|$", re.split(r"(?m)^##", part)[0])
    assert set(rows) == said()
    assert len(rows) == len(set(rows)) > 50


def test_the_same_thing_is_never_said_in_two_ways() -> None:
    found = said()
    assert len({what for _, what, _ in found}) == len(found)
