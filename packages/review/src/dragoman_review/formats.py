"""Output formats of findings: for people, programs, code scanners, and build logs. Pure.

In text for a terminal, control characters of the reviewed text are escaped, so that a file cannot write to
the terminal of its reviewer, and a secret is not shown at all. In JSON, `version` grows when a field changes
its meaning or goes; new fields may come at any time. In SARIF 2.1.0, paths are relative URIs, columns count
characters and a fix replaces characters; no text of the reviewed files is in it. JUnit XML is in `junit`.
"""

from __future__ import annotations

import urllib.parse
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from dragoman.text.cells import cell_width
from dragoman.text.json_values import encode_json
from dragoman.text.sanitize import sanitize_line
from dragoman_review.finding import Finding, FindingPlace, Fix, Severity
from dragoman_review.rule_links import rule_link
from dragoman_review.source import ReviewNote
from dragoman_review.text_edits import TextLines

WIDEST = 160
"""The most characters of a line to show; the rest is cut off."""

_COLOURS = {
    Severity.CRITICAL: "\x1b[1;97;41m",
    Severity.HIGH: "\x1b[1;31m",
    Severity.MEDIUM: "\x1b[33m",
    Severity.LOW: "\x1b[36m",
    Severity.INFO: "\x1b[2m",
}
_BOLD, _DIM, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def as_text(
    finding: Finding, lines: TextLines | None = None, *, colour: bool = False, page: str | None = None
) -> str:
    """Return place, severity, rule and title; the line itself if its text is given; the reason, and the fix.

    Here and below, `page` is the address of the page of all rules, for a link to the finding's.
    """

    def paint(text: str, code: str) -> str:
        return f"{code}{text}{_END}" if colour else text

    place = finding.place
    where = paint(f"{plain(place.path)}:{place.line}:{place.column}", _BOLD)
    severity = paint(finding.severity.value, _COLOURS[finding.severity])
    rows = [f"{where}  {severity}  {plain(finding.title)}  {paint(f'[{finding.rule}]', _DIM)}"]
    if lines is not None:
        rows += _source_rows(finding, lines)
    rows.append(f"    {plain(finding.why)}")
    if finding.fix is not None:
        kind = "safe" if finding.fix.safe else "check it first"
        rows.append(f"    {paint(f'fix ({kind})', _DIM)}: {plain(finding.fix.title)}")
    if page is not None and (link := rule_link(finding, page)):
        rows.append(f"    {paint(f'see {plain(link)}', _DIM)}")
    return "\n".join(rows) + "\n"


def plain(text: str) -> str:
    """Return the text on one line, with control and invisible characters escaped."""
    return sanitize_line(text.replace("\t", " "), exact=True)


def _source_rows(finding: Finding, lines: TextLines) -> list[str]:
    place = finding.place
    line = lines.line(place.line)
    if not line.strip():
        return []
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    start = min(place.column - 1, len(line))
    before, span, after = line[:start], line[start:end], line[end:]
    if finding.is_secret:
        span = "*" * min(len(span), 12)
    before, span, after = plain(before), plain(span), plain(after)
    number = f"{place.line:>6} | "
    rows = [f"{number}{(before + span + after)[:WIDEST]}"]
    if span.strip() and len(before) < WIDEST:
        rows.append(
            f"{' ' * (len(number) - 2)}| {' ' * cell_width(before)}"
            f"{'^' * cell_width(span[: WIDEST - len(before)])}"
        )
    return rows


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number for every severity from the worst to the mildest, also zero."""
    by_severity = Counter(finding.severity for finding in findings)
    return {severity.value: by_severity[severity] for severity in Severity}


def summary(findings: Iterable[Finding], *, files: int) -> str:
    """Return a summary for people: `3 findings in 12 files: 1 high, 2 low`."""
    each = {name: count for name, count in counts(findings).items() if count}
    total = sum(each.values())
    where = f"in {files} file{'' if files == 1 else 's'}"
    if not total:
        return f"nothing found {where}"
    parts = ", ".join(f"{count} {name}" for name, count in each.items())
    return f"{total} finding{'' if total == 1 else 's'} {where}: {parts}"


VERSION = 1


def _level(severity: Severity, *, mild: str) -> str:
    """How others call it; they differ in what is `mild`."""
    return {"critical": "error", "high": "error", "medium": "warning"}.get(severity.value, mild)


def as_json(
    findings: Sequence[Finding], notes: Sequence[ReviewNote], *, files: int, page: str | None = None
) -> bytes:
    document: dict[str, Any] = {
        "version": VERSION,
        "files": files,
        "summary": counts(findings),
        "findings": [_json_finding(finding, page) for finding in findings],
        "notes": [{"path": note.path, "text": note.text, "is_failure": note.is_failure} for note in notes],
    }
    return encode_json(document, indent=2) + b"\n"


def _json_finding(finding: Finding, page: str | None) -> dict[str, Any]:
    link = None if page is None else rule_link(finding, page)
    return {**msgspec.to_builtins(finding), "link": link}


def as_github(finding: Finding) -> str:
    place = finding.place
    fields = {
        "file": place.path,
        "line": str(place.line),
        "col": str(place.column),
        "endLine": str(max(place.line, place.end_line)),
        "title": f"{finding.rule} ({finding.severity.value})",
    }
    if place.end_line == place.line:  # columns mean something only within one line
        fields["endColumn"] = str(max(place.column, place.end_column))
    properties = ",".join(f"{name}={_github_field(value)}" for name, value in fields.items())
    text = _github_message(f"{finding.title}. {finding.why}")
    return f"::{_level(finding.severity, mild='notice')} {properties}::{text}\n"


def _github_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_field(text: str) -> str:
    return _github_message(text).replace(":", "%3A").replace(",", "%2C")


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(
    findings: Sequence[Finding], notes: Sequence[ReviewNote], *, version: str, page: str | None = None
) -> bytes:
    rules = {finding.rule: finding for finding in findings}
    places = {rule: index for index, rule in enumerate(rules)}
    mark_counts: Counter[str] = Counter()
    results = [_sarif_result(finding, places[finding.rule], mark_counts) for finding in findings]
    driver = {
        "name": "dragoman review",
        "version": version,
        "rules": [_sarif_rule(rule, page) for rule in rules.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [_sarif_invocation(notes)],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return encode_json(document, indent=2) + b"\n"


def _sarif_rule(finding: Finding, page: str | None) -> dict[str, Any]:
    link = None if page is None else rule_link(finding, page)
    return {
        "id": finding.rule,
        "shortDescription": {"text": finding.rule.replace("/", ": ").replace("-", " ")},
        "fullDescription": {"text": finding.why},
        "defaultConfiguration": {"level": _level(finding.severity, mild="note")},
        **({} if link is None else {"helpUri": link}),
    }


def _sarif_result(finding: Finding, index: int, mark_counts: Counter[str]) -> dict[str, Any]:
    mark = finding.fingerprint or f"{finding.rule}:{finding.path}"
    mark_counts[mark] += 1
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _level(finding.severity, mild="note"),
        "message": {"text": f"{finding.title}. {finding.why}"},
        "locations": [
            {"physicalLocation": {**_sarif_artifact(finding.path), "region": _sarif_region(finding.place)}}
        ],
        # Two findings of the same kind in equal lines are still two.
        "partialFingerprints": {"dragoman/v1": f"{mark}:{mark_counts[mark]}"},
        "properties": {"severity": finding.severity.value, "tool": finding.tool},
    }
    if finding.fix is not None:
        result["fixes"] = [_sarif_fix(finding.fix, finding.path)]
    return result


def _sarif_artifact(path: str) -> dict[str, Any]:
    uri = urllib.parse.quote(path.replace("\\", "/"), safe="/", errors="surrogateescape")
    return {"artifactLocation": {"uri": uri}}


def _sarif_region(place: FindingPlace) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _sarif_fix(fix: Fix, path: str) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.title},
        "artifactChanges": [{**_sarif_artifact(path), "replacements": replacements}],
    }


def _sarif_invocation(notes: Sequence[ReviewNote]) -> dict[str, Any]:
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
