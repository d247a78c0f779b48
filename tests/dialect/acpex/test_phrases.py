"""The ledger's words about these dialects: all in one place, all used, and all on their page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from dragoman.dialect.acpex import phrases
from dragoman.dialect.acpex.phrases import PHRASES, Phrase

PAGE = Path(__file__).parents[3] / "docs" / "dialects" / "acpex.md"


def listed(heading: str) -> list[tuple[str, str]]:
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE)


def test_the_page_lists_exactly_what_the_ledger_may_say() -> None:
    for outcome, heading in (("lost", "What is lost"), ("repaired", "What is repaired")):
        ours = [(phrase.what, phrase.done) for phrase in PHRASES if phrase.outcome == outcome]
        assert listed(heading) == ours


def test_every_phrase_is_used_and_nothing_is_said_in_other_words() -> None:
    files = [path for path in Path(phrases.__file__).parent.glob("*.py") if path.name != "phrases.py"]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    known = {name for name, value in vars(phrases).items() if isinstance(value, Phrase)}
    assert known - used == set()
    called = [
        node.func.attr
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    assert {"lost", "repaired"}.isdisjoint(called)


def test_no_two_phrases_are_about_the_same() -> None:
    assert len({(phrase.outcome, phrase.what) for phrase in PHRASES}) == len(PHRASES) > 40
