"""Measures three hubs on three servers of NATS, all on this machine, beside a plain client of the servers.

    bench/cluster.py                 everything, and writes bench/cluster-results.md
    bench/cluster.py --quick         smaller numbers; writes nothing
    bench/cluster.py --only delay    some figures: rates, delay, outage, replay, idle

Streams have three replicas and servers sync every write (`sync_interval: always`). Ratios count: servers,
hubs, agents and clients share the same cores, and so does the plain client that they are compared with.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # servers and hubs are started as the tests do

import cluster_figures as figures  # noqa: E402
from cluster_report import Report  # noqa: E402
from harness.company import Company  # noqa: E402
from harness.processes import adopt_orphans  # noqa: E402
from tests.cluster.together import Cluster, running_cluster  # noqa: E402

AGENT = [sys.executable, str(HERE / "cluster_agent.py")]
LAME_DUCK = 'lame_duck_duration: "30s"\nlame_duck_grace_period: "1s"'
"""A server that is told to go lets its leaders step down first, and may take this long for its clients."""

Measure = Callable[[Cluster, str, Report, bool], Awaitable[None]]


async def _rates(cluster: Cluster, folder: str, report: Report, quick: bool) -> None:
    for _ in range(1 if quick else 3):
        found = await figures.rates(cluster, folder, count=5_000 if quick else 20_000)
        report.add("rates", found)


async def _delay(cluster: Cluster, folder: str, report: Report, quick: bool) -> None:
    report.add("delay", await figures.delay(cluster, folder, count=500 if quick else 3000))


async def _outage(cluster: Cluster, folder: str, report: Report, quick: bool) -> None:
    for _ in range(1 if quick else 3):
        report.add("outage", {"kill": await figures.outage(cluster, folder, how="kill")})
        report.add("outage", {"stop": await figures.outage(cluster, folder, how="stop")})


async def _replay(cluster: Cluster, folder: str, report: Report, quick: bool) -> None:
    report.add("replay", await figures.replay(cluster, folder, count=20_000 if quick else 100_000))


async def _idle(cluster: Cluster, folder: str, report: Report, quick: bool) -> None:
    report.add("idle", await figures.idle(cluster, folder, count=1_000 if quick else 10_000))


FIGURES: dict[str, Measure] = {
    "rates": _rates,
    "delay": _delay,
    "replay": _replay,
    "idle": _idle,
    "outage": _outage,
}


async def measure(names: list[str], *, quick: bool) -> Report:
    report = Report()
    company = Company()
    with tempfile.TemporaryDirectory(prefix="bench-cluster-", ignore_cleanup_errors=True) as place:
        for name in names:
            folder = Path(place, name)
            work = folder / "work"
            work.mkdir(parents=True)
            cluster = running_cluster(folder, apart=False, command=AGENT, servers_more=LAME_DUCK)
            async with cluster as run:
                await FIGURES[name](run, str(work), report, quick)
            _reap()
            print(f"{name}: {report.shown(name)}", flush=True)
    report.others = company.share()
    return report


def _reap() -> None:
    """Agents that have outlived their hubs are ours by now; what they used counts as ours, too."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        pass  # there are none


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller numbers; writes nothing")
    parser.add_argument("--only", metavar="NAMES", default=",".join(FIGURES), help="commas between")
    chosen = parser.parse_args()
    names = chosen.only.split(",")
    if unknown := set(names) - set(FIGURES):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(FIGURES)}")
    adopt_orphans()
    report = asyncio.run(measure(names, quick=chosen.quick))
    text = report.page(quick=chosen.quick)
    print("\n" + text)
    if not chosen.quick and set(names) == set(FIGURES):
        (HERE / "cluster-results.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
