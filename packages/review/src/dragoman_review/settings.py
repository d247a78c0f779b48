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
    """Every field has a default; `ReviewSettings()` is a good review."""

    rules: tuple[ReviewRule, ...] = ()
    """Beside our own; one of the same id takes the place of ours."""
    only: tuple[str, ...] = ()
    """Rules to report, as `python/*`; empty for all."""
    without: tuple[str, ...] = ()
    """Rules not to report."""
    severity: Severity = Severity.INFO
    """The mildest to report."""
    baseline: Baseline | None = None
    """What is known already and not reported."""
    use_ruff: bool = True
    use_oxlint: bool = True
    deadline: float = 20.0
    """Seconds for one text, of the processor for our own rules and by the clock for tools; then the review
    goes on without."""
    workers: int = 0
    """Processes of our own that look through texts; 0 for as many as the machine is good for."""
    largest: int = 2_000_000
    """Characters of a text; what is larger is not reviewed, and a note says so."""
    most: int = 50
    """Findings of one rule in one text; a note tells of the rest."""

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
