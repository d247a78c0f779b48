"""All reviewers of a text: our own workers and rules, ruff and oxlint.

The engine loads this when the first text comes: without one, to load it would take longer than the review.
"""

from __future__ import annotations

from dragoman_review.inspectors import Inspector
from dragoman_review.oxlint import oxlint_findings
from dragoman_review.ruff import ruff_findings_of_many
from dragoman_review.rules import all_rules
from dragoman_review.structure import GRAMMARS, is_available

__all__ = ["GRAMMARS", "Inspector", "all_rules", "is_available", "oxlint_findings", "ruff_findings_of_many"]
