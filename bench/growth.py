"""How throughput and memory of a hub change with its load: draws docs/performance/growth-*.svg.

    bench/growth.py                     everything, about three minutes
    bench/growth.py --quick             without the largest numbers
    bench/growth.py --only clients      one of sessions, clients, history

Throughput is what one core can do: it is made from CPU, so that a busy machine changes little of it. Each
point is a process of its own (`hub/measure_growth.py`). A point that cannot be measured is told and left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from harness.curves import draw_curves
from harness.processes import BENCH, Failed, adopt_orphans, run
from peers.table import venv_python
from setup import missing_peers

PLOTS = BENCH.parent / "docs" / "performance"
SECONDS = 170


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Something that grows, and by how much."""

    name: str
    title: str
    axis: str
    numbers: tuple[int, ...]


GROWTHS = (
    Growth(
        name="sessions",
        title="Sessions that stream at once in one folder, 50,000 updates in all",
        axis="sessions",
        numbers=(1, 10, 100, 1_000),
    ),
    Growth(
        name="clients",
        title="Clients that follow one session, 10,000 updates to each",
        axis="clients",
        numbers=(1, 3, 10, 30, 100),
    ),
    Growth(
        name="history",
        title="A client loads a session",
        axis="updates in the history",
        numbers=(1_000, 10_000, 100_000, 1_000_000),
    ),
)


def measure_all(growths: tuple[Growth, ...], *, quick: bool) -> dict[str, dict[int, dict[str, float]]]:
    """By name and number: CPU for an update, and memory. What was measured is printed as it comes."""
    results: dict[str, dict[int, dict[str, float]]] = {}
    for growth in growths:
        points = results.setdefault(growth.name, {})
        for number in growth.numbers[: -1 if quick else None]:
            command = [venv_python("dragoman"), "-m", "hub.measure_growth", growth.name, str(number)]
            began = time.monotonic()
            try:
                points[number] = json.loads(run(command, seconds=SECONDS).stdout.strip().splitlines()[-1])
            except (Failed, OSError, ValueError, LookupError) as failure:
                print(f"growth {growth.name} {number}: FAILS: {failure!r}", flush=True)
                continue
            us, kb = points[number]["us"], points[number]["kb"]
            seconds = time.monotonic() - began
            print(f"growth {growth.name} {number}: {us:.3g} µs, {kb:,.0f} KB ({seconds:.1f} s)", flush=True)
    return results


def draw(growths: tuple[Growth, ...], results: dict[str, dict[int, dict[str, float]]], folder: Path) -> None:
    for growth in growths:
        points = results[growth.name]
        if len(points) < 2:
            continue
        panels = (
            ("updates/s of one core of the hub", _rates(points)),
            (
                "memory that the hub grew by, MB",
                [(n, max(found["kb"], 1) / 1024) for n, found in points.items()],
            ),
        )
        text = draw_curves(growth.title, growth.axis, panels)
        (folder / f"growth-{growth.name}.svg").write_text(text)


def _rates(points: dict[int, dict[str, float]]) -> list[tuple[float, float]]:
    return [(number, 1e6 / found["us"]) for number, found in points.items()]


def draw_all(*, only: str | None = None, quick: bool = False) -> int:
    """Measure and draw; the exit status."""
    if missing := missing_peers(["dragoman"]):
        print(*missing.values(), file=sys.stderr)
        return 1
    adopt_orphans()
    growths = tuple(growth for growth in GROWTHS if only in (None, growth.name))
    results = measure_all(growths, quick=quick)
    if not quick:
        draw(growths, results, PLOTS)
    return int(any(not points for points in results.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw how a hub grows.")
    parser.add_argument("--quick", action="store_true", help="without the largest numbers; draws nothing")
    parser.add_argument("--only", metavar="NAME", choices=[growth.name for growth in GROWTHS])
    arguments = parser.parse_args()
    return draw_all(only=arguments.only, quick=arguments.quick)


if __name__ == "__main__":
    sys.exit(main())
