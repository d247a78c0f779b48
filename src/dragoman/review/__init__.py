"""Reviews texts, offline: what is wrong, where, why it is bad and, where that is known, how to mend it.

    async for finding in review([Source("app.py", text)], Settings()):
        print(finding.place.line, finding.title)

The engine knows texts and rules; where texts come from (`gathering`, `git`, an editor's buffers) and where
findings go (`formats`) is its caller's business. It knows nothing of agents and of the protocol.
"""

from __future__ import annotations

from dragoman.review.baseline import BadBaseline, Baseline
from dragoman.review.engine import review
from dragoman.review.finding import Edit, Finding, Fix, Note, Place, Severity, Source, by_place
from dragoman.review.languages import LANGUAGES, language_of
from dragoman.review.programs import ToolFailed
from dragoman.review.rules import BadRule, Rule, own_rules, parse_rules, read_rules
from dragoman.review.settings import Settings
from dragoman.review.texts import Fixed, diff, edited, fixed

__all__ = [
    "LANGUAGES",
    "BadBaseline",
    "BadRule",
    "Baseline",
    "Edit",
    "Finding",
    "Fix",
    "Fixed",
    "Note",
    "Place",
    "Rule",
    "Settings",
    "Severity",
    "Source",
    "ToolFailed",
    "by_place",
    "diff",
    "edited",
    "fixed",
    "language_of",
    "own_rules",
    "parse_rules",
    "read_rules",
    "review",
]
