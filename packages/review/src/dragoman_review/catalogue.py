"""Every rule that there is, in one list: data, functions and trees alike. Pure.

What ruff and oxlint know beside ours is theirs to list; it is reported as `python/…` and `javascript/…`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from dragoman.decoders import convert
from dragoman_review import python_bugs, python_flow, python_security
from dragoman_review.callers import CALLER_RULE, CALLER_SEVERITY, CALLER_TITLE, CALLER_WHY
from dragoman_review.finding import Severity
from dragoman_review.python_ast import INVALID_SYNTAX, SYNTAX_TITLE, SYNTAX_WHY, Find, PythonRule
from dragoman_review.rules import ReviewRule, all_rules
from dragoman_review.suppression import COMPLAINTS
from dragoman_review.whole_text import CHECKS

_DATA = Path(__file__).parent / "data"


class RuleExample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule finds, and what it leaves alone."""

    rule: str
    path: str
    """What a file with such a text is called; the name tells the language."""
    bad: str
    good: str
    is_sketch: bool = False
    """Whether it only shows what is meant, because the real thing cannot stand in a file of ours."""


class CatalogueEntry(NamedTuple):
    """One rule, as a list shows it."""

    id: str
    severity: Severity
    languages: tuple[str, ...]
    """Empty for all."""
    title: str
    why: str


def catalogue(more: Iterable[ReviewRule] = ()) -> tuple[CatalogueEntry, ...]:
    """Our rules, and those of users."""
    entries = [
        *(CatalogueEntry(check.id, check.severity, (), check.title, check.why) for check in CHECKS),
        *(CatalogueEntry(rule.id, rule.severity, ("python",), rule.title, rule.why) for rule in PYTHON_RULES),
        *(
            CatalogueEntry(rule.id, rule.severity, rule.languages, rule.title, rule.why)
            for rule in all_rules(more)
        ),
        CatalogueEntry(CALLER_RULE, CALLER_SEVERITY, ("python",), CALLER_TITLE, CALLER_WHY),
        CatalogueEntry(INVALID_SYNTAX, Severity.HIGH, ("python",), SYNTAX_TITLE, SYNTAX_WHY),
        *(CatalogueEntry(words.rule, words.severity, (), words.title, words.why) for words in COMPLAINTS),
    ]
    return tuple(sorted(entries, key=lambda entry: entry.id))


def rule_examples() -> dict[str, RuleExample]:
    """One example for each rule of ours, by its name; the first where a rule has several."""
    tables = tomllib.loads((_DATA / "examples.toml").read_text("utf-8"))["example"]
    examples = {example.rule: example for example in convert(tables, list[RuleExample])}
    for rule in all_rules(()):
        if rule.id not in examples and rule.hits and rule.misses:
            language = rule.languages[0] if rule.languages else "text"
            examples[rule.id] = RuleExample(
                rule=rule.id, path=f"example.{language}", bad=rule.hits[0], good=rule.misses[0]
            )
    return examples


_FINDERS = python_bugs.FINDERS | python_flow.FINDERS | python_security.FINDERS
PYTHON_RULES: dict[PythonRule, Find] = {
    rule: _FINDERS[rule.id]
    for rule in convert(
        tomllib.loads((_DATA / "python-rules.toml").read_text("utf-8"))["rule"], list[PythonRule]
    )
}

BY_RUFF_CODE = {rule.ruff: rule for rule in PYTHON_RULES if rule.ruff is not None}
