"""All findings as SARIF 2.1.0, which code scanners and editors read. Pure.

Paths are relative URIs; columns count characters; a fix is given as replaced characters of the text. Secrets
are not in it, because no text of the reviewed files is.
"""

from __future__ import annotations

import urllib.parse
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.review.finding import Finding, FindingPlace, Fix, ReviewNote, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}


def as_sarif(findings: Sequence[Finding], notes: Sequence[ReviewNote], *, version: str) -> bytes:
    rules = {finding.rule: finding for finding in findings}
    places = {rule: index for index, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = [_result(finding, places[finding.rule], seen) for finding in findings]
    driver = {
        "name": "dragoman review",
        "version": version,
        "rules": [_rule(found) for found in rules.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [_invocation(notes)],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _rule(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.rule,
        "shortDescription": {"text": finding.rule.replace("/", ": ").replace("-", " ")},
        "fullDescription": {"text": finding.why},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
    }


def _result(finding: Finding, index: int, seen: Counter[str]) -> dict[str, Any]:
    mark = finding.fingerprint or f"{finding.rule}:{finding.path}"
    seen[mark] += 1
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.title}. {finding.why}"},
        "locations": [{"physicalLocation": {**_artifact(finding.path), "region": _region(finding.place)}}],
        # Two findings of the same kind in equal lines are still two.
        "partialFingerprints": {"dragoman/v1": f"{mark}:{seen[mark]}"},
        "properties": {"severity": finding.severity.value, "tool": finding.tool},
    }
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix, finding.path)]
    return result


def _artifact(path: str) -> dict[str, Any]:
    uri = urllib.parse.quote(path.replace("\\", "/"), safe="/", errors="surrogateescape")
    return {"artifactLocation": {"uri": uri}}


def _region(place: FindingPlace) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _fix(fix: Fix, path: str) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.title},
        "artifactChanges": [{**_artifact(path), "replacements": replacements}],
    }


def _invocation(notes: Sequence[ReviewNote]) -> dict[str, Any]:
    notifications = [
        {
            "level": "error" if note.is_failure else "note",
            "message": {"text": note.text if note.path is None else f"{note.path}: {note.text}"},
        }
        for note in notes
    ]
    return {
        "executionSuccessful": not any(note.is_failure for note in notes),
        "toolExecutionNotifications": notifications,
    }
