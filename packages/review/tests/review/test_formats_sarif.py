"""SARIF 2.1.0, checked against what the standard says of each object (`sarif_facts`)."""

import json
from typing import Any

from dragoman_review import Finding, ReviewNote, Severity
from dragoman_review.formats import as_sarif
from tests.review.findings import MENDED, finding
from tests.review.sarif_facts import problems


def document(*found: Finding, notes: tuple[ReviewNote, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(as_sarif(found, notes, version="1.2"))
    assert problems(made) == []
    return made


def test_the_shape_is_that_of_the_standard() -> None:
    made = document(
        *(
            finding(fix=MENDED),
            finding(severity=Severity.INFO, rule="text/todo"),
            finding(path="ä\\ü/ö %.py"),
        ),
        notes=(ReviewNote("x", "skipped"), ReviewNote(None, "ruff: no", is_failure=True)),
    )
    (run,) = made["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "note", "error"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["python/eval", "text/todo"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_place_counts_as_the_standard_does() -> None:
    (result,) = document(finding())["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 9}
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/a%20b.py"


def test_equal_findings_have_fingerprints_of_their_own() -> None:
    results = document(finding(), finding(line=9, end_line=9))["runs"][0]["results"]
    marks = [result["partialFingerprints"]["dragoman/v1"] for result in results]
    assert marks == ["f00d:1", "f00d:2"]


def test_a_fix_replaces_characters() -> None:
    (result,) = document(finding(fix=MENDED))["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert [
        (
            part["deletedRegion"]["charOffset"],
            part["deletedRegion"]["charLength"],
            part["insertedContent"]["text"],
        )
        for part in change["replacements"]
    ] == [(3, 4, "x"), (9, 0, "y")]


def test_no_findings_is_a_run_without_results() -> None:
    assert document()["runs"][0]["results"] == []


def test_the_check_of_documents_can_fail() -> None:
    made = document(finding(fix=MENDED))
    (run,) = made["runs"]
    run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    run["results"][0]["colour"] = "red"
    run["tool"]["driver"]["rules"][0]["helpUri"] = "rules.md"
    del run["invocations"][0]["executionSuccessful"]
    assert len(problems(made)) == 4
