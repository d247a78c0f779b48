"""`make simulate`: many seeds on all processors, with what they have found.

`--seed N` replays one seed and tells its story: who did what when, the log of the hubs included. A seed does
the same every time, on every machine with the same version of Python and of this repository.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable

from tests.hub.simulate.world import Outcome, run_seed

STORY = 400
"""Events that are told of a failed seed, unless more are wanted."""


def _run(seed: int) -> Outcome:
    outcome = run_seed(seed)
    return outcome if outcome.findings else outcome._replace(happenings=[])


def replay(seed: int, *, last: int, grep: str) -> int:
    outcome = run_seed(seed, verbose=True)
    shown = [one for one in outcome.happenings if grep in str(one)][-last:]
    print(*shown, sep="\n")
    print(f"\nseed {seed}: {len(outcome.happenings)} events in {outcome.seconds:.1f} virtual seconds")
    print(f"hash {run_seed(seed).digest}")
    print(*([f"FOUND: {finding}" for finding in outcome.findings] or ["nothing was found"]), sep="\n")
    return 1 if outcome.findings else 0


def run_many(seeds: range, *, jobs: int, most: int) -> int:
    began, done, turns, steps, virtual = time.monotonic(), 0, 0, 0, 0.0
    faults: Counter[str] = Counter()
    failed: list[Outcome] = []
    shown = began
    gc.freeze()
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=500) as pool:
        for outcome in pool.imap_unordered(_run, seeds, chunksize=4):
            done, turns, steps = done + 1, turns + outcome.turns, steps + outcome.steps
            virtual += outcome.seconds
            faults.update(outcome.faults)
            if outcome.findings:
                failed.append(outcome)
                print(f"seed {outcome.seed}: {outcome.findings[0]}", flush=True)
                if len(failed) >= most:
                    break
            if time.monotonic() - shown > 10.0:
                shown = time.monotonic()
                rate = done / (shown - began)
                print(f"{done} of {len(seeds)} seeds, {rate:.1f}/s, {len(failed)} failed", flush=True)
        pool.terminate()
    seconds = time.monotonic() - began
    print(
        f"\n{done} seeds in {seconds:.0f} s ({done / seconds:.1f}/s): {turns} turns, {steps} callbacks, ",
        end="",
    )
    print(f"{virtual / 3600:.1f} virtual hours, {sum(faults.values())} faults")
    print(*(f"  {count:7} {kind}" for kind, count in faults.most_common()), sep="\n")
    print(f"{len(failed)} seeds have findings" if failed else "nothing was found")
    for outcome in sorted(failed)[:5]:
        print(f'\nmake simulate ARGS="--seed {outcome.seed}"  tells this story:')
        print(*outcome.happenings[-40:], sep="\n")
        print(*(f"FOUND: {finding}" for finding in outcome.findings), sep="\n")
    return 1 if failed else 0


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this one and tell its story")
    parser.add_argument("--last", type=int, default=STORY, help="events of the story that are told")
    parser.add_argument("--grep", default="", help="tell only events that have this text")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--findings", type=int, default=20, help="stop after so many failed seeds")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    if chosen.seed is not None:
        return replay(chosen.seed, last=chosen.last, grep=chosen.grep)
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    return run_many(seeds, jobs=chosen.jobs, most=chosen.findings)


if __name__ == "__main__":
    sys.exit(main())
