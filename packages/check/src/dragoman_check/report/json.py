"""A report for programs. Its format is stable, marked by `"report": 1`: fields are added, never changed.

| member | |
|---|---|
| `report` | the version of this shape: 1 |
| `tool`, `title`, `outcome` | who examined, what was examined, `failed`, `warned`, `blocked` or `clean` |
| `counts` | how many requirements have each status; every status is named |
| `recordings` | what each recording is called |
| `parts` | for each side: `side`, `peer`, `counts`, `verdicts` |
| `packs` | for each pack and side: `name`, `about`, `side`, `items` |
| `complaints`, `blocked` | about the examination itself; why it could not go on |

A verdict has `requirement`, `area`, `level`, `text`, `source`, `kit` (ids of the official test kit with the
same meaning), `status`, `seen`, `broken`, `reason` and `findings`; a finding has `rule`, `why`, `fix`,
`recording` (counted from 1) and `frames`, each with `number`, `line`, `direction`, `at` and `text`.
"""

from __future__ import annotations

import msgspec

from dragoman.text.json_values import encode_json
from dragoman.wire.envelope import JsonObject
from dragoman_check.manifest import requirements
from dragoman_check.official_kit import kit_ids
from dragoman_check.report.model import CheckReport, ReportPart
from dragoman_check.verdict import Verdict, Violation

VERSION = 1


def as_json(report: CheckReport) -> str:
    return encode_json(_report(report), indent=2).decode() + "\n"


def outcome(report: CheckReport) -> str:
    """Return one word for the whole report."""
    counts = report.counts
    if counts["failed"]:
        return "failed"
    if report.blocked_by or counts["blocked"]:
        return "blocked"
    return "warned" if counts["warned"] else "clean"


def _report(report: CheckReport) -> JsonObject:
    return {
        "report": VERSION,
        "tool": report.tool,
        "title": report.title,
        "outcome": outcome(report),
        "counts": report.counts,
        "recordings": [report.name_of(number) for number in range(1, len(report.recordings) + 1)],
        "parts": [_part(report, part) for part in report.parts],
        "packs": msgspec.to_builtins(report.packs),
        "complaints": report.complaints,
        "blocked": report.blocked_by,
    }


def _part(report: CheckReport, part: ReportPart) -> JsonObject:
    return {
        "side": part.side,
        "peer": part.peer,
        "counts": part.counts,
        "verdicts": [_verdict(report, verdict) for verdict in part.verdicts],
    }


def _verdict(report: CheckReport, verdict: Verdict) -> JsonObject:
    requirement = requirements().get(verdict.requirement)
    return {
        "requirement": verdict.requirement,
        "area": requirement.area if requirement else "",
        "level": verdict.level,
        "text": verdict.text,
        "source": requirement.source if requirement else "",
        "kit": list(kit_ids(verdict.requirement)),
        "status": verdict.status,
        "seen": verdict.places,
        "broken": verdict.broken,
        "reason": verdict.reason,
        "evidence": [
            {"recording": place.connection, "frames": list(place.frames)} for place in verdict.evidence
        ],
        "findings": [_finding(report, finding) for finding in verdict.findings],
    }


def _finding(report: CheckReport, finding: Violation) -> JsonObject:
    return {
        "rule": finding.rule,
        "why": finding.why,
        "fix": finding.fix,
        "recording": finding.connection,
        "frames": [
            {**msgspec.to_builtins(excerpt), "line": report.line_of(finding.connection, excerpt.number)}
            for excerpt in report.evidence(finding, length=2000)
        ],
    }
