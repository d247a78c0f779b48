"""A report as JUnit XML: a suite for each side, a test case for each requirement.

The format knows no warnings: what only warns or is recorded is a case that passed and tells so in its output.
What was not exercised, does not apply, is blocked or waived is skipped, with the reason.
"""

from __future__ import annotations

from xml.etree import ElementTree as xml

from dragoman.text.sanitize import sanitize_line
from dragoman_check.report.model import CheckReport, ReportPart
from dragoman_check.verdict import Status, Verdict

_SKIPPED: tuple[Status, ...] = ("not exercised", "not applicable", "blocked", "waived")


def as_junit(report: CheckReport) -> str:
    root = xml.Element("testsuites", name=f"{report.tool}: {sanitize_line(report.title)}")
    totals = {"tests": 0, "failures": 0, "skipped": 0}
    for part in report.parts:
        suite = _suite(report, part)
        for name in totals:
            totals[name] += int(suite.get(name, "0"))
        root.append(suite)
    for name, number in totals.items():
        root.set(name, str(number))
    xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml.tostring(root, encoding="unicode")}\n'


def _suite(report: CheckReport, part: ReportPart) -> xml.Element:
    suite = xml.Element(
        "testsuite",
        name=f"{part.side} {sanitize_line(part.peer)}".strip(),
        tests=str(len(part.verdicts)),
        failures=str(len(part.of("failed"))),
        errors="0",
        skipped=str(len(part.of(*_SKIPPED))),
    )
    suite.extend(_case(report, part, verdict) for verdict in part.verdicts)
    return suite


def _case(report: CheckReport, part: ReportPart, verdict: Verdict) -> xml.Element:
    area = verdict.requirement.partition("-")[0]
    case = xml.Element(
        "testcase", classname=f"acp.{part.side}.{area}", name=f"{verdict.requirement} {verdict.text}"
    )
    if verdict.status == "failed":
        failure = xml.SubElement(case, "failure", type=verdict.level, message=_first(verdict))
        failure.text = _verdict_text(report, verdict)
    elif verdict.status in _SKIPPED:
        why = f"{verdict.status}: {verdict.reason}" if verdict.reason else verdict.status
        xml.SubElement(case, "skipped", message=sanitize_line(why))
    elif verdict.findings:
        xml.SubElement(case, "system-out").text = f"{verdict.status}\n{_verdict_text(report, verdict)}"
    return case


def _first(verdict: Verdict) -> str:
    return sanitize_line(verdict.findings[0].why) if verdict.findings else verdict.text


def _verdict_text(report: CheckReport, verdict: Verdict) -> str:
    lines = []
    for finding in verdict.findings:
        lines.append(f"{sanitize_line(finding.why)} [{finding.rule}]")
        where = report.name_of(finding.connection)
        lines += [
            f"  {where} frame {excerpt.number} {excerpt.direction}: {excerpt.text}"
            for excerpt in report.evidence(finding)
        ]
    lines += [f"change: {fix}" for fix in dict.fromkeys(finding.fix for finding in verdict.findings)]
    return "\n".join(lines)
