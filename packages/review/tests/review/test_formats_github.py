"""Findings as commands of a build."""

import pytest

from dragoman_review import Severity
from dragoman_review.formats import as_github
from tests.review.findings import finding


def test_a_finding_is_one_line_with_its_place() -> None:
    assert as_github(finding()) == (
        "::error file=src/a b.py,line=2,col=5,endLine=2,title=python/eval (high),endColumn=9::"
        "A title. It is bad.\n"
    )


def test_columns_are_left_out_when_they_are_of_two_lines() -> None:
    assert "endColumn" not in as_github(finding(end_line=4))


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        (Severity.CRITICAL, "error"),
        (Severity.HIGH, "error"),
        (Severity.MEDIUM, "warning"),
        (Severity.LOW, "notice"),
        (Severity.INFO, "notice"),
    ],
)
def test_severities_become_levels(severity: Severity, level: str) -> None:
    assert as_github(finding(severity=severity)).startswith(f"::{level} ")


def test_no_name_or_title_can_make_up_a_command() -> None:
    shown = as_github(finding(path="a,b:c\n::error ::x%", title="x\n::set-env name=A::b"))
    assert shown.count("\n") == 1
    assert "file=a%2Cb%3Ac%0A%3A%3Aerror %3A%3Ax%25," in shown
