"""SARIF 2.1.0, checked against the shape that the standard describes."""

import json
import re
from typing import Any

from dragoman.review import Finding, ReviewNote, Severity
from dragoman.review.formats import as_sarif
from tests.review.formats.findings import MENDED, finding

URI = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+")


def document(*found: Finding, notes: tuple[ReviewNote, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(as_sarif(found, notes, version="1.2"))
    check_log(made)
    return made


def check_log(log: dict[str, Any]) -> None:
    """What sections 3.13 to 3.58 of the standard demand of the properties that we write."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].startswith("https://")
    assert set(log) <= {"version", "$schema", "runs"}
    for run in log["runs"]:
        check_run(run)


def check_run(run: dict[str, Any]) -> None:
    assert set(run) <= {"tool", "results", "columnKind", "invocations"}
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        check_result(result)
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        for notification in invocation["toolExecutionNotifications"]:
            assert notification["message"]["text"]
            assert notification["level"] in ("none", "note", "warning", "error")


def check_result(result: dict[str, Any]) -> None:
    allowed = {
        "ruleId",
        "ruleIndex",
        "level",
        "message",
        "locations",
        "partialFingerprints",
        "properties",
        "fixes",
    }
    assert set(result) <= allowed
    assert result["message"]["text"]
    assert result["level"] in ("none", "note", "warning", "error")
    assert all(isinstance(mark, str) for mark in result["partialFingerprints"].values())
    for location in result["locations"]:
        place = location["physicalLocation"]
        assert URI.fullmatch(place["artifactLocation"]["uri"])
        check_region(place["region"])
    for fix in result.get("fixes", []):
        assert fix["artifactChanges"]
        for change in fix["artifactChanges"]:
            assert URI.fullmatch(change["artifactLocation"]["uri"])
            assert change["replacements"]
            for replacement in change["replacements"]:
                check_region(replacement["deletedRegion"])
                assert isinstance(replacement["insertedContent"]["text"], str)


def check_region(region: dict[str, int]) -> None:
    assert region.get("startLine", 0) >= 1 or region.get("charOffset", -1) >= 0
    if "startLine" in region:
        assert region["startColumn"] >= 1
        start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
        assert end >= start
    else:
        assert region["charLength"] >= 0


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
