"""The page about the cluster says what was reached, and does not praise what was not."""

from __future__ import annotations

from cluster_report import Report


def rows_of(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def full_report(**changed: float) -> Report:
    report = Report()
    figures = {
        "rates": {"plain append": 1e4, "plain consume": 15e3, "plain callback": 4e4, "updates": 4e4},
        "delay": {"p50": 5.0, "p99": 30.0},
        "outage": {"kill": 6.0, "stop": 0.2},
        "replay": {"journal": 80_000.0, "load": 80_000.0},
        "idle": {"bytes": 1500.0},
    }
    for scenario, found in figures.items():
        report.add(scenario, {name: changed.get(name, value) for name, value in found.items()})
    return report


def test_every_goal_that_is_reached_is_called_so() -> None:
    assert {row[3] for row in rows_of(full_report().page(quick=False))} == {"yes"}


def test_every_goal_that_is_missed_is_called_so() -> None:
    missed = {"updates": 39_999, "p50": 10, "p99": 40, "kill": 12.1, "stop": 1, "journal": 1, "bytes": 2048}
    for name, value in missed.items():
        verdicts = [row[3] for row in rows_of(full_report(**{name: float(value)}).page(quick=False))]
        assert verdicts.count("**no**") == 1, name


def test_the_longest_pause_counts_and_the_median_of_everything_else() -> None:
    report = full_report()
    for pause, updates in ((13.0, 80_000.0), (1.0, 90_000.0)):
        report.add("outage", {"kill": pause})
        report.add("rates", {"updates": updates})
    shown = {row[0]: row[2:] for row in rows_of(report.page(quick=False))}
    assert shown["pause when the leader of the session's stream is killed with -9"] == ["13 s", "**no**"]
    assert shown["durable updates through three hubs, R3, every write synced"][0].startswith(
        "80,000/s = 8.0x"
    )


def test_what_was_not_measured_has_no_verdict_and_a_busy_machine_is_named() -> None:
    report = Report(others=0.4)
    page = report.page(quick=True)
    assert {row[3] for row in rows_of(page)} == {"–"}
    assert "Others used 40% of the machine meanwhile: **not quiet enough" in page
