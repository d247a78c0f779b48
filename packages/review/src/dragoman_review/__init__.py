"""Reviews texts, offline: what is wrong, where, why, and, if known, how to fix it.

    async for finding in review([ReviewSource("app.py", text)], ReviewSettings()):
        print(finding.place.line, finding.title)

The engine knows texts and rules; where texts come from (`source_files`, `git`, an editor's buffers) and where
findings go (`formats`) is its caller's business. It knows nothing of agents and of the protocol.

The names below are loaded when they are first used: a worker process needs the rules, but no event loop.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman_review.assessor import Assessor
    from dragoman_review.baseline import BadBaseline, Baseline
    from dragoman_review.engine import review
    from dragoman_review.finding import Edit, Finding, FindingPlace, Fix, Severity, by_severity
    from dragoman_review.languages import LANGUAGES, language_of
    from dragoman_review.programs import ToolFailed
    from dragoman_review.risks import Proposal, Risk, RiskJudgement
    from dragoman_review.rules import BadRule, ReviewRule, own_rules, parse_rules, read_rules
    from dragoman_review.settings import ReviewSettings
    from dragoman_review.source import ReviewNote, ReviewSource
    from dragoman_review.text_edits import FixedText, apply_edits, apply_fixes, diff

_HOMES = {
    "LANGUAGES": "dragoman_review.languages",
    "Assessor": "dragoman_review.assessor",
    "BadBaseline": "dragoman_review.baseline",
    "BadRule": "dragoman_review.rules",
    "Baseline": "dragoman_review.baseline",
    "Edit": "dragoman_review.finding",
    "Finding": "dragoman_review.finding",
    "Fix": "dragoman_review.finding",
    "FixedText": "dragoman_review.text_edits",
    "RiskJudgement": "dragoman_review.risks",
    "ReviewNote": "dragoman_review.source",
    "FindingPlace": "dragoman_review.finding",
    "Proposal": "dragoman_review.risks",
    "Risk": "dragoman_review.risks",
    "ReviewRule": "dragoman_review.rules",
    "ReviewSettings": "dragoman_review.settings",
    "Severity": "dragoman_review.finding",
    "ReviewSource": "dragoman_review.source",
    "ToolFailed": "dragoman_review.programs",
    "by_severity": "dragoman_review.finding",
    "diff": "dragoman_review.text_edits",
    "apply_edits": "dragoman_review.text_edits",
    "apply_fixes": "dragoman_review.text_edits",
    "language_of": "dragoman_review.languages",
    "own_rules": "dragoman_review.rules",
    "parse_rules": "dragoman_review.rules",
    "read_rules": "dragoman_review.rules",
    "review": "dragoman_review.engine",
}

__all__ = [
    "LANGUAGES",
    "Assessor",
    "BadBaseline",
    "BadRule",
    "Baseline",
    "Edit",
    "Finding",
    "FindingPlace",
    "Fix",
    "FixedText",
    "Proposal",
    "ReviewNote",
    "ReviewRule",
    "ReviewSettings",
    "ReviewSource",
    "Risk",
    "RiskJudgement",
    "Severity",
    "ToolFailed",
    "apply_edits",
    "apply_fixes",
    "by_severity",
    "diff",
    "language_of",
    "own_rules",
    "parse_rules",
    "read_rules",
    "review",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
