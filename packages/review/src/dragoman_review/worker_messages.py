"""The messages between the review and its worker processes, one JSON text per line.

Apart from the worker, so that the review itself does not load what only workers need.
"""

from __future__ import annotations

from msgspec import Struct

from dragoman_review.finding import Finding
from dragoman_review.rules import ReviewRule

LONGEST_LINE = 2_000
"""The most characters of a line by a person; a longer one is minified or data."""


class WorkerSetup(Struct, frozen=True, kw_only=True):
    """The first message to a worker: rules and deadline."""

    rules: tuple[ReviewRule, ...]
    deadline: float


class WorkerRequest(Struct, frozen=True, kw_only=True):
    """One text to inspect."""

    path: str
    text: str
    has_ruff: bool
    longest: int = LONGEST_LINE


class WorkerAnswer(Struct, frozen=True, kw_only=True):
    """The findings."""

    findings: list[Finding]
    failures: list[str]
