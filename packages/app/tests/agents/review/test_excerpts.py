"""What a model gets to see of findings."""

from __future__ import annotations

import json

from dragoman_app.agents.review.excerpts import AROUND, MOST, excerpts
from dragoman_review.finding import Finding, FindingPlace, Severity


def finding(
    line: int, *, severity: Severity = Severity.LOW, column: int = 1, end: int = 2, secret: bool = False
) -> Finding:
    place = FindingPlace(path="a.txt", line=line, column=column, end_line=line, end_column=end)
    return Finding(rule="x/y", severity=severity, place=place, title="T", why="W", is_secret=secret)


def test_the_worst_come_first_and_few_lines_around_each() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 100))
    found = [finding(50), finding(1, severity=Severity.CRITICAL)]
    first, second = map(json.loads, excerpts(found, {"a.txt": text}).splitlines())
    assert (first["number"], second["number"]) == (2, 1)
    assert second["lines"] == [f"{n}: line {n}" for n in range(50 - AROUND, 50 + AROUND + 1)]


def test_what_is_too_much_is_counted() -> None:
    told = excerpts([finding(1)] * (MOST + 3), {"a.txt": "x\n"})
    assert told.splitlines()[-1] == "3 milder findings are left out."
