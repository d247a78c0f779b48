"""The results as one Markdown table: each peer's median, ours, and which goals are met."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field

from chat.figures import CHAT_FIGURES
from harness.client_figures import CLIENT_FIGURES
from harness.goals import FIGURES, Figure, Medians
from hub.figures import HUB_FIGURES
from peers.table import Peer

WORTH_TELLING = 0.03  # of the median; less is the noise of any machine
QUIET = 0.1  # a tenth of two cores already moves the rates of two busy processes


ALL_FIGURES: list[Figure] = [*FIGURES, *CLIENT_FIGURES, *HUB_FIGURES, *CHAT_FIGURES]


@dataclass
class Results:
    """Every figure of every round, and the reason where a peer failed."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, peer: str, figures: dict[str, float]) -> None:
        for key, value in figures.items():
            self.values.setdefault(key, {}).setdefault(peer, []).append(value)

    def failed(self, figure: Figure, peer: str) -> bool:
        return (figure.scenario, peer) in self.failures

    def medians(self, figure: Figure) -> Medians:
        """Of the peers that never failed: what worked once is no figure of what works."""
        of_peers = self.values.get(figure.key, {}).items()
        return {peer: statistics.median(found) for peer, found in of_peers if not self.failed(figure, peer)}

    def spread(self, figure: Figure, peer: str) -> float | None:
        """Half of what lies between the lowest and the highest round, as a part of the median."""
        found = self.values.get(figure.key, {}).get(peer, [])
        middle = statistics.median(found) if len(found) > 1 else 0.0
        return (max(found) - min(found)) / 2 / middle if middle else None


def render(results: Results, peers: list[Peer], *, rounds: int, quick: bool, others: float) -> str:
    """``others`` is the part of the machine that was used by somebody else meanwhile."""
    figures = [figure for figure in ALL_FIGURES if _was_run(results, figure)]
    head = ["what", *(peer.title for peer in peers), "reached", "goal", "met"]
    lines = [
        "# Results",
        "",
        f"{'Quick: medians' if quick else 'Medians'} of {rounds} or more alternating rounds on {machine()}.",
        "Ratios count, absolute figures do not. ± is half of the span of all rounds. `–` means not measured;",
        "what is measured is in README.md.",
        f"Others used {others:.0%} of the machine meanwhile{_warning(others)}.",
        "",
        _row(head),
        _row(["---", *("---:" for _ in peers), "---", "---", "---"]),
        *(_row(_cells(results, figure, peers)) for figure in figures),
    ]
    if results.failures:
        lines += ["", "Failures:", ""]
        lines += [
            f"- {peer}, {scenario}: {_plain(why)}" for (scenario, peer), why in results.failures.items()
        ]
    return "\n".join(lines) + "\n"


def _warning(others: float) -> str:
    return "" if others <= QUIET else ": **not quiet enough; only CPU, memory and failures mean something**"


def machine() -> str:
    node = shutil.which("node")
    version = (
        subprocess.run([node, "--version"], capture_output=True, text=True, check=False) if node else None
    )
    parts = [f"{os.cpu_count()} cores", platform.machine(), f"Python {platform.python_version()}"]
    return ", ".join([*parts, f"Node {version.stdout.strip().lstrip('v')}"] if version else parts)


def _was_run(results: Results, figure: Figure) -> bool:
    return figure.key in results.values or any(name == figure.scenario for name, _ in results.failures)


def _cells(results: Results, figure: Figure, peers: list[Peer]) -> list[str]:
    medians = results.medians(figure)
    reached = [goal.reached(medians, more=figure.more) for goal in figure.goals]
    return [
        figure.title,
        *("fails" if results.failed(figure, p.name) else _measured(results, figure, p.name) for p in peers),
        ", ".join(r[0] if r else "–" for r in reached),
        ", ".join(goal.text() for goal in figure.goals),
        ", ".join("–" if r is None else "yes" if r[1] else "**no**" for r in reached),
    ]


def _measured(results: Results, figure: Figure, peer: str) -> str:
    """The median, and the spread of the rounds if it is worth a word."""
    spread = results.spread(figure, peer)
    shown = number(results.medians(figure).get(peer))
    return shown if spread is None or spread < WORTH_TELLING else f"{shown} ±{spread:.0%}"


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")
