"""`dragoman review --list-rules` and `--try-rules`: all rules in a table, and whether each rule finds
the examples that stand beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dragoman_app.apps.console import say
from dragoman_review import ReviewNote, ReviewRule, ReviewSettings, ReviewSource, review
from dragoman_review.catalogue import catalogue
from dragoman_review.finding import RuleText
from dragoman_review.languages import example_name
from dragoman_review.rule_files import chosen_rules

_DEADLINE = 5.0
_SHOWN = 60


def run_rules(args: argparse.Namespace) -> int:
    """What one of the two options asks for; returns the exit status."""
    rules = chosen_rules(Path.cwd(), args.rules)
    return list_rules(rules) if args.list_rules else asyncio.run(try_rules(rules))


async def try_rules(rules: tuple[ReviewRule, ...]) -> int:
    """0 if every example holds, 1 if not."""
    examples = failures = 0
    for rule in rules:
        if not rule.hits or not rule.misses:
            say(f"{rule.id}: has no {'hits' if not rule.hits else 'misses'} to try")
        for text, is_hit in _examples(rule):
            examples += 1
            why = await _complaint(rule, text, is_hit=is_hit)
            if why is not None:
                failures += 1
                say(f"{rule.id}: {why}: {text[:_SHOWN]!r}")
    say(f"{examples} examples of {len(rules)} rules, {failures} failed", file=sys.stderr)
    return 1 if failures else 0


def _examples(rule: ReviewRule) -> Iterator[tuple[str, bool]]:
    yield from ((text, True) for text in rule.hits)
    yield from ((text, False) for text in rule.misses)


async def _complaint(rule: ReviewRule, text: str, *, is_hit: bool) -> str | None:
    notes: list[ReviewNote] = []
    settings = ReviewSettings(
        rules=(rule,), only=(rule.id,), use_ruff=False, use_oxlint=False, workers=1, deadline=_DEADLINE
    )
    findings = [
        finding async for finding in review([ReviewSource(_path(rule), text)], settings, note=notes.append)
    ]
    if notes:
        return notes[0].text
    if is_hit and not findings:
        return "does not find its hit"
    return "finds its miss" if findings and not is_hit else None


def _path(rule: ReviewRule) -> str:
    """A name that the rule holds for."""
    if rule.paths:
        return rule.paths[0].replace("**/", "").replace("*", "example")
    return example_name(rule.languages[0]) if rule.languages else "example.txt"


class _Row(NamedTuple):
    rule: str
    severity: str
    languages: str
    title: str


def list_rules(more: tuple[ReviewRule, ...]) -> int:
    rows = list(_rows(catalogue(more)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        say("  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row.title)))
    return 0


def _rows(entries: tuple[RuleText, ...]) -> Iterator[_Row]:
    for entry in entries:
        languages = ", ".join(entry.languages[:3]) + (", …" if len(entry.languages) > 3 else "")
        yield _Row(entry.id, entry.severity.value, languages or "all", entry.title)
