"""Findings as JUnit XML, which many build servers show. Pure; it contains no text of the files.

Apart from the other formats, because few ask for it and a library for XML takes a while to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as xml

from dragoman_review.finding import Finding
from dragoman_review.formats import plain
from dragoman_review.source import ReviewNote


def as_junit(findings: Sequence[Finding], notes: Sequence[ReviewNote], *, files: Sequence[str]) -> str:
    """Return JUnit XML: a failed test case for each finding, and one for each file without any.

    What a tool could not do is an error, so that a build does not take a half review for a whole one.
    """
    paths_with_findings = {finding.path for finding in findings}
    failures = [note for note in notes if note.is_failure]
    cases = [_junit_finding(finding) for finding in findings]
    cases += [
        xml.Element("testcase", classname=plain(path), name="no findings")
        for path in dict.fromkeys(files)
        if path not in paths_with_findings
    ]
    cases += [_junit_failure(note) for note in failures]
    totals = {"tests": len(cases), "failures": len(findings), "errors": len(failures), "skipped": 0}
    numbers = {name: str(number) for name, number in totals.items()}
    root = xml.Element("testsuites", {"name": "dragoman review", **numbers})
    xml.SubElement(root, "testsuite", {"name": "dragoman review", **numbers}).extend(cases)
    xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml.tostring(root, encoding="unicode")}\n'


def _junit_finding(finding: Finding) -> xml.Element:
    path, line = plain(finding.path), str(finding.line)
    name = f"{finding.rule} in line {line}"
    case = xml.Element("testcase", classname=path, name=name, file=path, line=line)
    failure = xml.SubElement(case, "failure", type=finding.severity.value, message=plain(finding.title))
    failure.text = f"{path}:{line}: {plain(finding.why)}"
    return case


def _junit_failure(note: ReviewNote) -> xml.Element:
    case = xml.Element("testcase", classname=plain(note.path or "dragoman review"), name="review")
    xml.SubElement(case, "error", type="tool", message=plain(note.text))
    return case
