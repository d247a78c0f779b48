"""All rules in one list, both those that are data and those that are functions. Pure.

What ruff and oxlint know beside ours is theirs to list; it is reported as `python/…` and `javascript/…`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from dragoman.decoders import convert
from dragoman_review.callers import CALLER
from dragoman_review.finding import RuleText
from dragoman_review.python_ast import SYNTAX
from dragoman_review.rules import ReviewRule, all_rules, own_rules
from dragoman_review.secrets import HARDCODED
from dragoman_review.suppression import COMPLAINTS
from dragoman_review.whole_text import CHECKS

_DATA = Path(__file__).parent / "data"


class RuleExample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Code that a rule finds, and code that it leaves alone."""

    rule: str
    path: str
    """The file name for such a text, which determines the language."""
    bad: str
    good: str


def catalogue(more: Iterable[ReviewRule] = ()) -> tuple[RuleText, ...]:
    """Our rules, and those of users."""
    rules = [*CHECKS, *NAMED_BY_US, *all_rules(more), CALLER, SYNTAX, HARDCODED, *COMPLAINTS]
    return tuple(sorted(rules, key=lambda rule: rule.id))


def rule_examples() -> dict[str, RuleExample]:
    """Return one example for each rule of Dragoman, by its name; the first if a rule has several."""
    tables = tomllib.loads((_DATA / "examples.toml").read_text("utf-8"))["example"]
    examples = {example.rule: example for example in convert(tables, list[RuleExample])}
    for rule in all_rules(()):
        if rule.id not in examples and rule.hits and rule.misses:
            language = rule.languages[0] if rule.languages else "text"
            examples[rule.id] = RuleExample(
                rule=rule.id, path=f"example.{language}", bad=rule.hits[0], good=rule.misses[0]
            )
    return examples


class RuffRule(RuleText, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Our text for a finding of ruff."""

    ruff: str
    """The ruff code of the same finding."""


NAMED_BY_US = convert(
    tomllib.loads((_DATA / "named-by-us.toml").read_text("utf-8"))["rule"], tuple[RuffRule, ...]
)
BY_RUFF_CODE: dict[str, RuleText] = {
    **{rule.ruff: rule for rule in NAMED_BY_US},
    **{rule.ruff: rule for rule in own_rules() if rule.ruff is not None},
}
