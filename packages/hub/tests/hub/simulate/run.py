"""`make simulate`: many seeds on all processors, with what they have found.

A run that is stopped, by the interrupt key or after too many findings, says how it goes on. `--seed N`
replays one seed and tells its story: who did what when, the log of the hubs included. A seed does the same
every time, on every machine with the same version of Python and of this repository.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial

from tests.hub.simulate.consent_world import ConsentWorld
from tests.hub.simulate.world import Outcome, World, run_seed

STORY = 400
"""Events that are told of a failed seed, unless more are wanted."""

PROGRESS_SECONDS = 10.0


WORLDS: dict[str, type[World]] = {"sessions": World, "consent": ConsentWorld}


def _run(world: str, seed: int) -> Outcome:
    outcome = run_seed(seed, kind=WORLDS[world])
    return outcome if outcome.findings else outcome._replace(happenings=[])


def replay(seed: int, *, world: str, last: int, grep: str) -> int:
    outcome = run_seed(seed, verbose=True, kind=WORLDS[world])
    shown = [one for one in outcome.happenings if grep in str(one)][-last:]
    print(*shown, sep="\n")
    print(f"\nseed {seed}: {len(outcome.happenings)} events in {outcome.seconds:.1f} virtual seconds")
    print(f"hash {run_seed(seed, kind=WORLDS[world]).digest}")
    print(*([f"FOUND: {finding}" for finding in outcome.findings] or ["nothing was found"]), sep="\n")
    return 1 if outcome.findings else 0


class Tally:
    """What many seeds have come to."""

    def __init__(self, seeds: range, world: str) -> None:
        self.seeds = seeds
        self._world = world
        self.failed: list[Outcome] = []
        self._faults: Counter[str] = Counter()
        self._done = self._turns = self._steps = 0
        self._virtual = 0.0
        self._began = self._shown = time.monotonic()

    @property
    def next(self) -> int:
        """The first seed that was not run."""
        return self.seeds[0] + self._done

    def add(self, outcome: Outcome) -> None:
        self._done += 1
        self._turns += outcome.turns
        self._steps += outcome.steps
        self._virtual += outcome.seconds
        self._faults.update(outcome.faults)
        if outcome.findings:
            self.failed.append(outcome)
            print(f"seed {outcome.seed}: {outcome.findings[0]}", flush=True)
        now = time.monotonic()
        if now - self._shown > PROGRESS_SECONDS:
            self._shown = now
            rate = self._done / (now - self._began)
            left = (len(self.seeds) - self._done) / rate / 60
            print(
                f"{self._done} of {len(self.seeds)} seeds, {rate:.1f}/s, {left:.0f} min left, "
                f"{len(self.failed)} failed",
                flush=True,
            )

    def tell(self) -> None:
        for outcome in self.failed[:5]:
            print(f'\nmake simulate ARGS="--world {self._world} --seed {outcome.seed}"  tells this story:')
            print(*outcome.happenings[-40:], sep="\n")
            print(*(f"FOUND: {finding}" for finding in outcome.findings), sep="\n")
        print(*(f"  {count:7} {kind}" for kind, count in self._faults.most_common()), sep="\n")
        rest = len(self.seeds) - self._done
        if rest:
            again = f"--world {self._world} --first {self.next} --seeds {rest}"
            print(f'stopped: make simulate ARGS="{again}" goes on from here')
        seconds = time.monotonic() - self._began
        found = ", ".join(str(outcome.seed) for outcome in self.failed)
        print(
            f"seeds {self.seeds[0]} to {self.next - 1} in {seconds:.0f} s: {self._turns} turns, "
            f"{self._steps} callbacks, {self._virtual / 3600:.1f} virtual hours, "
            f"{sum(self._faults.values())} faults; "
            + (f"{len(self.failed)} seeds have findings: {found}" if found else "nothing was found")
        )


def run_many(seeds: range, *, world: str, jobs: int, most: int) -> int:
    """Results come in the order of the seeds: a run that was stopped can go on behind the last one."""
    tally = Tally(seeds, world)
    gc.freeze()
    ignore = (signal.SIGINT, signal.SIG_IGN)  # the interrupt key is for us
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, signal.signal, ignore, maxtasksperchild=500) as pool:
        try:
            for outcome in pool.imap(partial(_run, world), seeds, chunksize=4):
                tally.add(outcome)
                if len(tally.failed) >= most:
                    break
        except KeyboardInterrupt:
            pass  # what is done counts
        pool.terminate()
    tally.tell()
    return 1 if tally.failed else 0


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--world", choices=tuple(WORLDS), default="sessions", help="what is simulated")
    parser.add_argument("--seed", type=int, help="replay this one and tell its story")
    parser.add_argument("--last", type=int, default=STORY, help="events of the story that are told")
    parser.add_argument("--grep", default="", help="tell only events that have this text")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--findings", type=int, default=20, help="stop after so many failed seeds")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    if chosen.seed is not None:
        return replay(chosen.seed, world=chosen.world, last=chosen.last, grep=chosen.grep)
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    return run_many(seeds, world=chosen.world, jobs=chosen.jobs, most=chosen.findings)


if __name__ == "__main__":
    sys.exit(main())
