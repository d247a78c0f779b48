"""Settings of a review: what it looks for, and its limits."""

from __future__ import annotations

import fnmatch
import os

from msgspec import Struct

from dragoman_review.baseline import Baseline
from dragoman_review.finding import Finding, Severity
from dragoman_review.rules import ReviewRule


def _workers() -> int:
    # More than a few bring little: a review is short, and somebody is working on the same machine.
    return max(1, min(4, os.cpu_count() or 1))


class ReviewSettings(Struct, frozen=True, kw_only=True):
    """All settings. Every field has a default; `ReviewSettings()` is a good review."""

    rules: tuple[ReviewRule, ...] = ()
    """Further rules; one with the same id replaces ours."""
    only: tuple[str, ...] = ()
    """Rules to report, such as `python/*`; empty for all."""
    without: tuple[str, ...] = ()
    """Rules not to report."""
    severity: Severity = Severity.INFO
    """The mildest severity to report."""
    baseline: Baseline | None = None
    """Known findings, which are not reported."""
    use_ruff: bool = True
    use_oxlint: bool = True
    deadline: float = 20.0
    """The seconds for one text, of processor time for our own rules and of real time for tools; then the
    review continues without them.
    """
    workers: int = 0
    """The number of our worker processes; 0 chooses a number for the machine."""
    largest: int = 2_000_000
    """The most characters of a text; a larger one is skipped with a note."""
    most: int = 50
    """The most findings of one rule in one text; a note counts the others."""

    @property
    def concurrency(self) -> int:
        return self.workers or _workers()

    def wants(self, finding: Finding) -> bool:
        if not finding.severity.is_at_least(self.severity):
            return False
        if self.only and not _fits(self.only, finding.rule):
            return False
        return not _fits(self.without, finding.rule)


def _fits(patterns: tuple[str, ...], rule: str) -> bool:
    return any(fnmatch.fnmatchcase(rule, pattern) for pattern in patterns)
