"""Goals that were reached once: a run that misses one of them has failed.

`reached.json` holds them, as the figure and the goal's own words. A whole run on a quiet machine adds what it
reaches. On a busy machine only CPU, memory and counts are judged: rates and delays say nothing there.
"""

from __future__ import annotations

import json

from harness.goals import Figure
from harness.processes import BENCH
from harness.report import QUIET, Results

REACHED = BENCH / "reached.json"
STEADY = ("_us", "cpu_ms", "_kb", ".kb", "_mb", "sizes", "modules", "found", "false")
"""Ends of the keys of figures that do not depend on what others do to the machine."""

NOT_STEADY = ("p50_us", "p99_us")
"""Delays are wall time, though in microseconds."""


def is_steady(figure: Figure) -> bool:
    return figure.key.endswith(STEADY) and not figure.key.endswith(NOT_STEADY)


def reached_goals(results: Results, figures: list[Figure]) -> dict[str, bool]:
    """Each goal that was measured, by figure and words, and whether it is met."""
    judged = {}
    for figure in figures:
        medians = results.medians(figure)
        for goal in figure.goals:
            found = goal.reached(medians, more=figure.more)
            if found is not None:
                judged[f"{figure.key} {goal.text()}"] = found[1]
    return judged


def lost_goals(results: Results, figures: list[Figure], *, others: float) -> list[str]:
    """What was reached before and is missed now."""
    before = set(json.loads(REACHED.read_text())) if REACHED.exists() else set()
    judged = reached_goals(results, [f for f in figures if others <= QUIET or is_steady(f)])
    return sorted(name for name, met in judged.items() if not met and name in before)


def remember_reached(results: Results, figures: list[Figure]) -> None:
    before = set(json.loads(REACHED.read_text())) if REACHED.exists() else set()
    met = {name for name, is_met in reached_goals(results, figures).items() if is_met}
    REACHED.write_text(json.dumps(sorted(before | met), indent=1, ensure_ascii=False) + "\n")
