"""Every rule that there is, in one list: data, functions and trees alike. Pure.

What ruff and oxlint know beside ours is theirs to list; it is reported as `python/…` and `javascript/…`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dragoman.review.finding import Severity
from dragoman.review.python_rules import PYTHON_RULES
from dragoman.review.rules import ReviewRule, all_rules
from dragoman.review.whole_text import CHECKS


class CatalogueEntry(NamedTuple):
    """One rule, as a list shows it."""

    id: str
    severity: Severity
    languages: tuple[str, ...]
    """Empty for all."""
    title: str
    why: str


def catalogue(more: Iterable[ReviewRule] = ()) -> tuple[CatalogueEntry, ...]:
    """Ours, and those of users."""
    entries = [
        *(CatalogueEntry(check.id, check.severity, (), check.title, check.why) for check in CHECKS),
        *(CatalogueEntry(rule.id, rule.severity, ("python",), rule.title, rule.why) for rule in PYTHON_RULES),
        *(
            CatalogueEntry(rule.id, rule.severity, rule.languages, rule.title, rule.why)
            for rule in all_rules(more)
        ),
    ]
    return tuple(sorted(entries, key=lambda entry: entry.id))
