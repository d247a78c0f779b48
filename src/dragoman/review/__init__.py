"""Reviews texts, offline: what is wrong, where, why it is bad and, where that is known, how to mend it.

    async for finding in review([ReviewSource("app.py", text)], ReviewSettings()):
        print(finding.place.line, finding.title)

The engine knows texts and rules; where texts come from (`source_files`, `git`, an editor's buffers) and where
findings go (`formats`) is its caller's business. It knows nothing of agents and of the protocol.

The names below are loaded when they are first used: a worker process needs the rules, but no event loop.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.review.assessor import Assessor
    from dragoman.review.baseline import BadBaseline, Baseline
    from dragoman.review.engine import review
    from dragoman.review.finding import Edit, Finding, FindingPlace, Fix, Severity, by_severity
    from dragoman.review.languages import LANGUAGES, language_of
    from dragoman.review.programs import ToolFailed
    from dragoman.review.risks import Proposal, Risk, RiskJudgement
    from dragoman.review.rules import BadRule, ReviewRule, own_rules, parse_rules, read_rules
    from dragoman.review.settings import ReviewSettings
    from dragoman.review.source import ReviewNote, ReviewSource
    from dragoman.review.text_edits import FixedText, apply_edits, apply_fixes, diff

_HOMES = {
    "LANGUAGES": "dragoman.review.languages",
    "Assessor": "dragoman.review.assessor",
    "BadBaseline": "dragoman.review.baseline",
    "BadRule": "dragoman.review.rules",
    "Baseline": "dragoman.review.baseline",
    "Edit": "dragoman.review.finding",
    "Finding": "dragoman.review.finding",
    "Fix": "dragoman.review.finding",
    "FixedText": "dragoman.review.text_edits",
    "RiskJudgement": "dragoman.review.risks",
    "ReviewNote": "dragoman.review.source",
    "FindingPlace": "dragoman.review.finding",
    "Proposal": "dragoman.review.risks",
    "Risk": "dragoman.review.risks",
    "ReviewRule": "dragoman.review.rules",
    "ReviewSettings": "dragoman.review.settings",
    "Severity": "dragoman.review.finding",
    "ReviewSource": "dragoman.review.source",
    "ToolFailed": "dragoman.review.programs",
    "by_severity": "dragoman.review.finding",
    "diff": "dragoman.review.text_edits",
    "apply_edits": "dragoman.review.text_edits",
    "apply_fixes": "dragoman.review.text_edits",
    "language_of": "dragoman.review.languages",
    "own_rules": "dragoman.review.rules",
    "parse_rules": "dragoman.review.rules",
    "read_rules": "dragoman.review.rules",
    "review": "dragoman.review.engine",
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
