"""Every format with every severity: what is found is told, what is silenced with a reason or known is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as xml

import pytest

from dragoman_review import Baseline, Finding, ReviewSettings, ReviewSource, Severity
from dragoman_review.formats import as_github, as_json, as_sarif, as_text
from dragoman_review.junit import as_junit
from dragoman_review.rules import ReviewRule
from tests.review.samples import reviewed
from tests.review.sarif_facts import problems

pytestmark = pytest.mark.usefixtures("rules_in_this_process")

PATH = "notes.py"
Shown = dict[str, str]
"""How severe a format says that a rule's finding is, by the rule."""


def rule_of(severity: Severity) -> ReviewRule:
    return ReviewRule(
        id=f"team/{severity.value}",
        title=f"{severity.value} word",
        why="It must not stand here.",
        severity=severity,
        pattern=f"BAD_{severity.value.upper()}",
    )


RULES = tuple(rule_of(severity) for severity in Severity)
LINES = [f"BAD_{severity.value.upper()} = 1" for severity in Severity]


def in_text(findings: Sequence[Finding]) -> Shown:
    rows = [as_text(finding).split("\n")[0].split("  ") for finding in findings]
    return {row[3].strip("[]"): row[1] for row in rows}


def in_json(findings: Sequence[Finding]) -> Shown:
    document = json.loads(as_json(findings, [], files=1))
    assert sum(document["summary"].values()) == len(findings)
    return {found["rule"]: found["severity"] for found in document["findings"]}


def in_sarif(findings: Sequence[Finding]) -> Shown:
    document = json.loads(as_sarif(findings, [], version="1"))
    assert problems(document) == []
    results = document["runs"][0]["results"]
    levels = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
    assert all(result["level"] == levels[result["properties"]["severity"]] for result in results)
    return {result["ruleId"]: result["properties"]["severity"] for result in results}


def in_junit(findings: Sequence[Finding]) -> Shown:
    root = xml.fromstring(as_junit(findings, [], files=[PATH]))
    failed = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert root.get("failures") == str(len(findings))
    assert bool(findings) is not any(case.get("name") == "no findings" for case in root.iter("testcase"))
    return {str(case.get("name")).split(" ")[0]: str(case[0].get("type")) for case in failed}


def in_github(findings: Sequence[Finding]) -> Shown:
    levels = {"critical": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice"}
    shown = {}
    for line in (as_github(finding) for finding in findings):
        rule, _, severity = line.partition("title=")[2].partition(" (")
        shown[rule] = severity.partition(")")[0]
        assert line.startswith(f"::{levels[shown[rule]]} file={PATH},")
    return shown


FORMATS: dict[str, Callable[[Sequence[Finding]], Shown]] = {
    "text": in_text,
    "json": in_json,
    "sarif": in_sarif,
    "junit": in_junit,
    "github": in_github,
}


_REVIEWS: dict[tuple[tuple[str, ...], bool], list[Finding]] = {}
"""What was found; each text is reviewed once for all formats."""


async def findings_of(lines: Sequence[str], *, baseline: Baseline | None = None) -> list[Finding]:
    key = (tuple(lines), baseline is None)
    if key not in _REVIEWS:
        settings = ReviewSettings(
            rules=RULES, only=("team/*", "review/*"), baseline=baseline, use_ruff=False, use_oxlint=False
        )
        _REVIEWS[key] = await reviewed(ReviewSource(PATH, "\n".join([*lines, ""])), settings=settings)
    return _REVIEWS[key]


def all_severities() -> Shown:
    return {f"team/{severity.value}": severity.value for severity in Severity}


@pytest.mark.parametrize("name", FORMATS)
async def test_every_severity_is_told(name: str) -> None:
    assert FORMATS[name](await findings_of(LINES)) == all_severities()


@pytest.mark.parametrize("name", FORMATS)
async def test_what_is_silenced_with_a_reason_is_not_told_and_without_one_this_is_told(name: str) -> None:
    for severity in Severity:
        rule = f"team/{severity.value}"
        lines = [*LINES]
        at = LINES.index(f"BAD_{severity.value.upper()} = 1")
        lines[at] += f"  # dragoman: ignore[{rule}] it is a word of the customer's"
        rest = {other: word for other, word in all_severities().items() if other != rule}
        assert FORMATS[name](await findings_of(lines)) == rest
        lines[at] = f"{LINES[at]}  # dragoman: ignore[{rule}]"
        complaint = {"review/suppression-without-reason": "info"}
        assert FORMATS[name](await findings_of(lines)) == rest | complaint


@pytest.mark.parametrize("name", FORMATS)
async def test_what_a_baseline_knows_is_not_told_but_one_more_of_it_is(name: str) -> None:
    known = Baseline.of(await findings_of(LINES))
    assert FORMATS[name](await findings_of(["", *LINES], baseline=known)) == {}
    again = await findings_of([*LINES, *LINES], baseline=known)
    assert FORMATS[name](again) == all_severities()
