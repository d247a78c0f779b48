"""A report as SARIF 2.1.0: a rule for each judged requirement, a result for each finding.

Results point at the recording: the file and the line of the frame where they are known. What was judged and
kept, was not exercised or does not apply is not a result; the counts are properties of the run.
"""

from __future__ import annotations

from pathlib import PurePath
from urllib.parse import quote

from dragoman.text.json_values import encode_json
from dragoman.wire.envelope import JsonObject
from dragoman_check.manifest import requirements
from dragoman_check.official_kit import kit_ids
from dragoman_check.report.model import CheckReport, ReportPart
from dragoman_check.verdict import Status, Verdict, Violation

_LEVEL: dict[Status, str] = {"failed": "error", "warned": "warning", "recorded": "note", "waived": "note"}

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(report: CheckReport) -> str:
    verdicts = [(part, verdict) for part in report.parts for verdict in part.of(*_LEVEL)]
    names = list(dict.fromkeys(verdict.requirement for _, verdict in verdicts))
    run = {
        "tool": {"driver": _driver(report, names, verdicts)},
        "results": [
            _result(report, part, verdict, finding, names.index(verdict.requirement))
            for part, verdict in verdicts
            for finding in verdict.findings
        ],
        "properties": {"title": report.title, "counts": report.counts, "blocked": report.blocked_by},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return encode_json(log, indent=2).decode() + "\n"


def _driver(report: CheckReport, names: list[str], verdicts: list[tuple[ReportPart, Verdict]]) -> JsonObject:
    name, _, version = report.tool.partition(" ")
    worst = {verdict.requirement: verdict for _, verdict in verdicts}
    driver = {"name": f"{name} check", "rules": [_rule(worst[name]) for name in names]}
    return {**driver, "version": version} if version else driver


def _rule(verdict: Verdict) -> JsonObject:
    requirement = requirements().get(verdict.requirement)
    fixes = " ".join(dict.fromkeys(finding.fix for finding in verdict.findings))
    page = {"helpUri": requirement.page} if requirement else {}
    return {
        **page,
        "id": verdict.requirement,
        "name": verdict.requirement.replace("-", ""),
        "shortDescription": {"text": verdict.text},
        "fullDescription": {
            "text": f"{verdict.text} ({verdict.level}; {requirement.source if requirement else ''})"
        },
        "help": {"text": fixes or verdict.text},
        "defaultConfiguration": {"level": _LEVEL[verdict.status]},
        "properties": {
            "tags": ["acp", requirement.area if requirement else "pack"],
            "level": verdict.level,
            "kit": list(kit_ids(verdict.requirement)),
        },
    }


def _result(
    report: CheckReport, part: ReportPart, verdict: Verdict, finding: Violation, index: int
) -> JsonObject:
    result: JsonObject = {
        "ruleId": verdict.requirement,
        "ruleIndex": index,
        "level": _LEVEL[verdict.status],
        "message": {"text": f"{finding.why} ({part.side} {part.peer})".replace(" )", ")")},
        "locations": [_location(report, finding, finding.frames[0] if finding.frames else 1)],
        "relatedLocations": [
            {
                **_location(report, finding, excerpt.number),
                "message": {"text": f"{excerpt.direction}: {excerpt.text}"},
            }
            for excerpt in report.evidence(finding)
        ],
        # The same finding in the next run is the same: frames and ids change, what is wrong does not.
        "partialFingerprints": {"acp/v1": f"{part.side}/{verdict.requirement}/{finding.rule}/{finding.why}"},
    }
    if verdict.status == "waived":
        result["suppressions"] = [{"kind": "external", "justification": verdict.reason}]
    return result


def _location(report: CheckReport, finding: Violation, frame: int) -> JsonObject:
    line = report.line_of(finding.connection, frame)
    path = PurePath(report.name_of(finding.connection))
    # Absolute paths are URIs of their own kind; a relative one must not look like a scheme.
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    place: JsonObject = {"artifactLocation": {"uri": uri}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {
        "physicalLocation": place,
        "logicalLocations": [{"fullyQualifiedName": f"frame {frame}", "kind": "object"}],
    }
