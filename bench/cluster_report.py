"""The figures of the cluster as a page: what was measured, what was asked for, and whether it was reached."""

from __future__ import annotations

import os
import platform
import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET = 0.1

Values = Callable[[str, str], float]
"""The median of a figure, by its scenario and its name."""


@dataclass(frozen=True)
class Row:
    """`reached` says in words what was, and whether that is enough."""

    scenario: str
    what: str
    goal: str
    reached: Callable[[Values], tuple[str, bool]]


def _times(value: float, base: float, least: float) -> tuple[str, bool]:
    return f"{value:,.0f}/s = {value / base:.1f}x of {base:,.0f}/s", value >= least * base


def _replayed(of: Values, name: str) -> tuple[str, bool]:
    """The goal is about a consumer as people write one; what a bare callback does is told beside it."""
    value = of("replay", name)
    text, enough = _times(value, of("rates", "plain consume"), 5)
    bare = of("rates", "plain callback")
    return f"{text}; {value / bare:.1f}x of a callback that does nothing", enough


def _below(value: float, most: float, unit: str) -> tuple[str, bool]:
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{shown} {unit}", value < most


ROWS = (
    Row(
        "rates",
        "durable updates through three hubs, R3, every write synced",
        "4x the acked appends of a plain client",
        lambda of: _times(of("rates", "updates"), of("rates", "plain append"), 4),
    ),
    Row(
        "delay",
        "agent to a client at another node, p50",
        "below 10 ms",
        lambda of: _below(of("delay", "p50"), 10, "ms"),
    ),
    Row("delay", "the same, p99", "below 40 ms", lambda of: _below(of("delay", "p99"), 40, "ms")),
    Row(
        "outage",
        "pause when the leader of the session's stream is killed with -9",
        "at most 12 s, nothing fails",
        lambda of: _below(of("outage", "kill"), 12, "s"),
    ),
    Row(
        "outage",
        "pause when it is told to go (lame duck)",
        "below 1 s, nothing fails",
        lambda of: _below(of("outage", "stop"), 1, "s"),
    ),
    Row(
        "replay",
        "replay by another node: entries read from the journal",
        "5x the messages of a plain consumer",
        lambda of: _replayed(of, "journal"),
    ),
    Row(
        "replay",
        "the same, told to a client that loads the session there",
        "5x the messages of a plain consumer",
        lambda of: _replayed(of, "load"),
    ),
    Row(
        "idle",
        "memory of a hub for a session in which nothing goes on",
        "below 2 KB; no consumer, no task",
        lambda of: _below(of("idle", "bytes"), 2048, "bytes"),
    ),
)


@dataclass
class Report:
    others: float = 0.0
    """The part of the machine that others used meanwhile."""
    _values: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, scenario: str, found: dict[str, float]) -> None:
        for name, value in found.items():
            self._values[scenario, name].append(value)

    def of(self, scenario: str, name: str) -> float:
        """The worst for pauses, which is what is promised; else the median."""
        values = self._values[scenario, name]
        return max(values) if scenario == "outage" else statistics.median(values)

    def shown(self, scenario: str) -> str:
        return ", ".join(
            f"{name} {', '.join(f'{value:,.4g}' for value in values)}"
            for (of, name), values in self._values.items()
            if of == scenario
        )

    def page(self, *, quick: bool) -> str:
        noise = "" if self.others <= QUIET else ": **not quiet enough; rates, delays and pauses mean little**"
        head = [
            "# The cluster, measured",
            "",
            f"Three servers, three hubs, agents and clients on {os.cpu_count()} cores, {platform.machine()},",
            f"Python {platform.python_version()}: `make bench-cluster`{', quick' if quick else ''}.",
            "Medians of all rounds, but the longest of all pauses. Ratios count, absolute figures do not.",
            f"Others used {self.others:.0%} of the machine meanwhile{noise}.",
            "",
            "| what | goal | reached | met |",
            "|---|---|---|---|",
        ]
        note = "Of the sessions that stream, two thirds have their client at another node."
        return "\n".join([*head, *(self._row(row) for row in ROWS), "", note + self._costs(), ""])

    def _row(self, row: Row) -> str:
        try:
            reached, enough = row.reached(self.of)
        except (statistics.StatisticsError, ValueError):
            reached, enough = "–", None
        met = "–" if enough is None else "yes" if enough else "**no**"
        return f"| {row.what} | {row.goal} | {reached} | {met} |"

    def _costs(self) -> str:
        """What an update costs of the processors."""
        who = ("hubs", "servers", "clients")
        if not self._values.get(("rates", "us hubs")):
            return ""
        parts = [f"{name} {self.of('rates', f'us {name}'):.1f} µs" for name in who]
        return f" Each update costs the {', the '.join(parts)} of a processor."
