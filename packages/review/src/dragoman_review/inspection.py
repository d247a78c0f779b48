"""Runs all our own checks on one text, without external tools: a pure function.

It may take long, for rules that users wrote or texts that machines wrote; whoever calls it sees to that.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman_review.finding import Finding
from dragoman_review.languages import language_of
from dragoman_review.python_ast import syntax_findings
from dragoman_review.rules import ReviewRule
from dragoman_review.secrets import secret_findings
from dragoman_review.structure import StructureFailed, structural_findings
from dragoman_review.text_edits import TextLines
from dragoman_review.text_rules import text_findings
from dragoman_review.whole_text import whole_text_findings
from dragoman_review.worker_messages import LONGEST_LINE


class Inspection(NamedTuple):
    """The findings in one text, and the checks that could not run."""

    findings: list[Finding]
    failures: list[str]


def inspect(
    path: str, text: str, rules: Sequence[ReviewRule], *, has_ruff: bool, longest: int = LONGEST_LINE
) -> Inspection:
    """Inspect one text. Never raises, for any text."""
    language = language_of(path, text)
    lines = TextLines(text)
    relevant_rules = [
        rule
        for rule in rules
        if rule.holds_for(language) and _concerns(rule, path) and not (has_ruff and rule.ruff)
    ]
    findings = [
        *whole_text_findings(path, lines),
        *secret_findings(path, lines, longest=longest),
        *text_findings(path, lines, relevant_rules, longest=longest),
    ]
    failures: list[str] = []
    if language == "python" and not has_ruff:
        findings += syntax_findings(path, lines)
    try:
        findings += structural_findings(path, lines, language, relevant_rules)
    except StructureFailed as error:
        failures.append(f"ast-grep: {error}")
    return Inspection(list(_unique(findings)), failures)


def _unique(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Each thing once: patterns of a rule may match at one place."""
    places: set[tuple[str, int, int]] = set()
    for finding in findings:
        place = (finding.rule, finding.place.line, finding.place.column)
        if place not in places:
            places.add(place)
            yield finding


def _concerns(rule: ReviewRule, path: str) -> bool:
    if rule.paths and not _is_any(rule.paths, path):
        return False
    return not (rule.not_paths and _is_any(rule.not_paths, path))


@functools.lru_cache(maxsize=4096)
def _is_any(patterns: tuple[str, ...], path: str) -> bool:
    """Whether a path matches one of the patterns: `*` also matches `/`, and a leading `**/` nothing."""
    path = path.replace("\\", "/")
    return any(
        fnmatch.fnmatchcase(path, pattern)
        or fnmatch.fnmatchcase(f"/{path}", f"*/{pattern.removeprefix('**/')}")
        for pattern in patterns
    )
