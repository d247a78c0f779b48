"""The verdict counts each finding once, under what it is."""

from __future__ import annotations

from tests.cluster.findings import Finding
from tests.cluster.verdict import count_findings, verdict_table


def test_a_finding_is_counted_once_under_its_kind() -> None:
    findings = [
        Finding("lost", "s", 1, 0.0, "the update k#1 is stored twice: in order"),
        Finding("told twice", "s", 1, 0.0, "ann heard it"),
        "k was refused and run",
        "k was run 2 times",
        Finding("answered twice", "s", 0, 0.0, "the question"),
        "memory grows",
    ]
    counts = count_findings(findings)
    assert [counts[kind] for kind in ("lost", "refused and run", "answered twice", "other")] == [1, 1, 1, 1]
    assert counts["doubled"] == 2
    assert sum(counts.values()) == len(findings)


def test_a_table_says_the_verdict_last() -> None:
    assert verdict_table([], [("longest outage", "3.0 s of 15 s")]).splitlines()[-2:] == [
        "longest outage      3.0 s of 15 s",
        "PASSED",
    ]
    assert verdict_table(["k was refused and run"]).endswith("FAILED: 1 findings")
