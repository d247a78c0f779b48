"""Reviews texts, offline: what is wrong, where, why it is bad and, where that is known, how to mend it.

    async for finding in review([Source("app.py", text)], Settings()):
        print(finding.place.line, finding.title)

The engine knows texts and rules; where texts come from (`gathering`, `git`, an editor's buffers) and where
findings go (`formats`) is its caller's business. It knows nothing of agents and of the protocol.

The names below are loaded when they are first used: a worker process needs the rules, but no event loop.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.review.assessor import Assessor
    from dragoman.review.baseline import BadBaseline, Baseline
    from dragoman.review.engine import review
    from dragoman.review.finding import Edit, Finding, Fix, Note, Place, Severity, Source, by_severity
    from dragoman.review.languages import LANGUAGES, language_of
    from dragoman.review.programs import ToolFailed
    from dragoman.review.risks import Judged, Proposal, Risk
    from dragoman.review.rules import BadRule, Rule, own_rules, parse_rules, read_rules
    from dragoman.review.settings import Settings
    from dragoman.review.text_edits import Fixed, diff, edited, fixed

_HOMES = {
    "LANGUAGES": "dragoman.review.languages",
    "Assessor": "dragoman.review.assessor",
    "BadBaseline": "dragoman.review.baseline",
    "BadRule": "dragoman.review.rules",
    "Baseline": "dragoman.review.baseline",
    "Edit": "dragoman.review.finding",
    "Finding": "dragoman.review.finding",
    "Fix": "dragoman.review.finding",
    "Fixed": "dragoman.review.text_edits",
    "Judged": "dragoman.review.risks",
    "Note": "dragoman.review.finding",
    "Place": "dragoman.review.finding",
    "Proposal": "dragoman.review.risks",
    "Risk": "dragoman.review.risks",
    "Rule": "dragoman.review.rules",
    "Settings": "dragoman.review.settings",
    "Severity": "dragoman.review.finding",
    "Source": "dragoman.review.finding",
    "ToolFailed": "dragoman.review.programs",
    "by_severity": "dragoman.review.finding",
    "diff": "dragoman.review.text_edits",
    "edited": "dragoman.review.text_edits",
    "fixed": "dragoman.review.text_edits",
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
    "Fix",
    "Fixed",
    "Judged",
    "Note",
    "Place",
    "Proposal",
    "Risk",
    "Rule",
    "Settings",
    "Severity",
    "Source",
    "ToolFailed",
    "by_severity",
    "diff",
    "edited",
    "fixed",
    "language_of",
    "own_rules",
    "parse_rules",
    "read_rules",
    "review",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
