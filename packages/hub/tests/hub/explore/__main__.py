"""Explore the large scopes and those of the tests: `python -m tests.hub.explore`.

Every world of every scope is looked at. What breaks a promise is told as a story, and ends the run with
status 1. `--most N` looks at the N nearest worlds of each scope only.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.hub.explore.explorer import Exploration, explore
from tests.hub.explore.scopes import LARGE_SCOPES, SCOPES
from tests.hub.explore.story import shrink, tell
from tests.hub.explore.world import Scope

REPORT_EVERY = 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    reader = argparse.ArgumentParser(prog="python -m tests.hub.explore", description=__doc__)
    reader.add_argument("--most", type=int, default=0, help="worlds of each scope at the most; 0 for all")
    reader.add_argument("--processes", type=int, default=2)
    options = reader.parse_args(arguments)
    scopes = {**LARGE_SCOPES, **SCOPES}
    worlds, is_broken = 0, False
    for name, result in _results(scopes, options.most, options.processes):
        worlds += result.worlds
        print(f"{name}: {result}", flush=True)
        if result.found is not None:
            is_broken = True
            print(tell(shrink(result.found)), flush=True)
    print(f"{worlds:,} distinct states in {len(scopes)} scopes")
    return 1 if is_broken else 0


def _results(scopes: Mapping[str, Scope], most: int, processes: int) -> Iterator[tuple[str, Exploration]]:
    """As they come; each scope is explored by one process."""
    if processes == 1:
        for name, scope in scopes.items():
            yield name, _explore(name, scope, most)
        return
    with ProcessPoolExecutor(processes) as pool:
        runs = {pool.submit(_explore, name, scope, most): name for name, scope in scopes.items()}
        for run in as_completed(runs):
            yield runs[run], run.result()


def _explore(name: str, scope: Scope, most: int) -> Exploration:
    last = time.monotonic()

    def report(depth: int, worlds: int) -> None:
        nonlocal last
        if time.monotonic() - last > REPORT_EVERY:
            last = time.monotonic()
            print(f"  {name}: {worlds:,} states so far, {depth} deep", flush=True)

    return explore(scope, most=most, on_level=report)


if __name__ == "__main__":
    sys.exit(main())
