"""Compares Dragoman with the official SDKs, all in one run on one machine, in alternating rounds.

    bench/run.py                        everything, and writes bench/results.md
    bench/run.py --quick                smaller numbers, one round
    bench/run.py --only stream,relay    some scenarios
    bench/run.py --peers raw,dragoman   some peers
    bench/run.py --growth               only the curves of growth.py

results.md and the plots are written by a whole run only, so that they never hold half a picture; --output and
--plots write any run. A run fails if a goal is missed that was reached before (`harness/regressions.py`).
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import TypeVar

import growth
from harness.company import Company
from harness.goals import OURS
from harness.plots import draw_all
from harness.processes import BENCH, Failed, adopt_orphans
from harness.regressions import is_steady, lost_goals, remember_reached
from harness.report import ALL_FIGURES, QUIET, Results, render
from peers.table import Peer, all_peers
from scenarios.scenario import Scenario
from scenarios.table import SCENARIOS
from setup import missing_peers

ROUNDS = 3
PLOTS = BENCH.parent / "docs" / "performance"
Named = TypeVar("Named", Peer, Scenario)


BY_HAND = "\n<!-- What is below was written by hand; a run leaves it as it is. -->\n"


def notes_below(results: Path) -> str:
    """What people wrote below the table of an earlier run: it stays."""
    earlier = results.read_text() if results.exists() else ""
    return BY_HAND + earlier.partition(BY_HAND)[2]


def main() -> int:
    arguments = _arguments()
    if arguments.growth:
        return growth.draw_all()
    peers = _named(all_peers(), arguments.peers)
    scenarios = _named(SCENARIOS, arguments.only)
    missing = missing_peers([peer.name for peer in peers])
    for reason in missing.values():
        print(reason, file=sys.stderr)
    usable = [peer for peer in peers if peer.name not in missing]
    rounds = arguments.repeat or (1 if arguments.quick else ROUNDS)
    adopt_orphans()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit("stopped")
    )  # an exit ends the children, a signal would not
    results = Results()
    company = Company()
    for scenario in scenarios:
        _run_scenario(scenario, usable, results, rounds=rounds, quick=arguments.quick)
    others = company.share()
    text = render(results, usable, rounds=rounds, quick=arguments.quick, others=others)
    print("\n" + text)
    whole = not (arguments.only or arguments.peers or arguments.quick or missing)
    output = arguments.output or (BENCH / "results.md" if whole else None)
    if output:
        notes = notes_below(output)
        output.write_text(text + notes)
        if notes != BY_HAND:
            print(f"{output}: look whether what was written below the table still holds", file=sys.stderr)
    if whole or arguments.plots:
        draw_all(results, usable, PLOTS, is_wanted=lambda figure: others <= QUIET or is_steady(figure))
    if whole:
        growth.draw_all()
    lost = lost_goals(results, ALL_FIGURES, others=others)
    for goal in lost:
        print(f"missed, and was reached before: {goal}", file=sys.stderr)
    if whole and others <= QUIET:
        remember_reached(results, ALL_FIGURES)
    return int(bool(lost) or any(peer.startswith(OURS) for _, peer in results.failures))


def _run_scenario(
    scenario: Scenario, peers: list[Peer], results: Results, *, rounds: int, quick: bool
) -> None:
    """Round after round over all peers, so that a machine that slows down slows all of them."""
    able = [peer for peer in peers if peer.takes_part(scenario.name, scenario.needs)]
    wanted = rounds if quick or scenario.rounds is None else scenario.rounds
    for number in range(0 if scenario.rehearsed else 1, wanted + 1):
        for peer in able:
            if (scenario.name, peer.name) in results.failures:
                continue
            label = f"{scenario.name} {number or 'rehearsal'} {peer.name}"
            try:
                figures = _measured(scenario, peer, label, quick=quick)
            except (Failed, OSError, ValueError, LookupError) as failure:
                # A program that leaves early or prints nonsense is a failure of its peer, not of the run.
                results.failures[scenario.name, peer.name] = f"{failure}" or type(failure).__name__
                print(f"{label}: FAILS: {failure!r}", flush=True)
                continue
            if number:
                results.add(peer.name, figures)


def _measured(scenario: Scenario, peer: Peer, label: str, *, quick: bool) -> dict[str, float]:
    began = time.monotonic()
    figures = scenario.measure(peer, quick=quick)
    shown = ", ".join(f"{key.partition('.')[2]} {value:,.4g}" for key, value in figures.items())
    print(f"{label}: {shown} ({time.monotonic() - began:.1f} s)", flush=True)
    return figures


def _named(known: list[Named], names: str | None) -> list[Named]:
    if not names:
        return known
    wanted = names.split(",")
    if unknown := set(wanted) - {item.name for item in known}:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(item.name for item in known)}")
    return [item for item in known if item.name in wanted]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Dragoman with the official SDKs.")
    parser.add_argument("--only", metavar="NAMES", help="scenarios, with commas between")
    parser.add_argument("--peers", metavar="NAMES", help="peers, with commas between")
    parser.add_argument("--repeat", type=int, metavar="N", help=f"rounds (default {ROUNDS}, quick 1)")
    parser.add_argument("--quick", action="store_true", help="smaller numbers, under three minutes")
    parser.add_argument(
        "--plots", action="store_true", help="draw docs/performance again, as a whole run does"
    )
    parser.add_argument("--growth", action="store_true", help="draw only how a hub grows (growth.py)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
