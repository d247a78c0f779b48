"""Draws mistakes and says which of them no test notices.

    make prove SEED=7                                   # 300 mistakes, drawn by the number 7
    make prove SEED=7 ARGS="--area consent --mutants 40"
    make prove ARGS="--mutant packages/…/table.py:widen:4"   # one, named as the report names it

The first run finds out which tests reach which lines, which takes some minutes; `--map` does so again. A run
that was stopped goes on where it was, as long as no Python has changed. A mistake that changes nothing a
person could notice is explained in `tests/prove_equivalents.toml`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from prove.copy import make_copy, state_of
from prove.mutants import AREAS, Mutant, draw, every_mutant
from prove.reach import ReachMap
from prove.report import Kept, explanations, key_of, shown, table
from prove.trial import SURVIVED, Bench, Outcome
from quick import imports_of_tests

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "prove"
EQUIVALENTS = ROOT / "tests" / "prove_equivalents.toml"

TESTS = (
    *(
        f"packages/hub/tests/hub/{name}"
        for name in (
            "gate",
            "judge",
            "session",
            "engine",
            "clients",
            "lending",
            "sessions",
            "outside",
            "agents",
        )
    ),
    "packages/hub/tests/hub/consent",
    "packages/hub/tests/hub/test_hub_effects.py",
    "packages/hub/tests/hub/test_hub_effect_cells.py",
    "packages/sdk/tests/dialect",
    *(f"packages/local/tests/{name}" for name in ("journal", "workspace", "sandbox", "secrets")),
)
"""Tests of which it is known which lines they reach."""


def main() -> int:
    options = _options()
    everything = every_mutant(ROOT, options.area or tuple(AREAS))
    if options.mutant:
        named = {mutant.name: mutant for mutants in everything.values() for mutant in mutants}
        unknown = [name for name in options.mutant if name not in named]
        if unknown:
            print(f"no such mistake: {', '.join(unknown)}. The report names each as FILE:OPERATOR:NUMBER.")
            return 2
        mutants = [named[name] for name in options.mutant]
    else:
        mutants = draw(everything, options.mutants, options.seed)
    reach = _reach_map(options)
    outcomes = _Run(mutants, options, reach).outcomes()
    explained = explanations(EQUIVALENTS)
    open_ones = [o.mutant for o in outcomes if o.kind == SURVIVED and key_of(o.mutant) not in explained]
    rows = table(outcomes, explained)
    if options.json:
        found = [{**asdict(o), "explained": explained.get(key_of(o.mutant))} for o in outcomes]
        report = {"seed": options.seed, "state": state_of(ROOT), "areas": rows, "outcomes": found}
        Path(options.json).write_text(json.dumps(report, indent=1), "utf-8")
    print(shown(rows))
    for mutant in open_ones:
        print(f"\nsurvived: {mutant.name}, line {mutant.line}, in {mutant.within}")
        print(f"  - {mutant.before}\n  + {mutant.after}")
    return 1 if open_ones else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="prove", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="decides which mistakes are drawn (1)")
    parser.add_argument("--mutants", type=int, default=300, metavar="N", help="how many (300)")
    parser.add_argument("--area", action="append", choices=AREAS, help="only these; can be repeated")
    parser.add_argument("--mutant", action="append", metavar="NAME", help="this mistake; can be repeated")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="at once")
    parser.add_argument("--map", action="store_true", help="find out anew which tests reach which lines")
    parser.add_argument("--again", action="store_true", help="try again what was tried in this state")
    parser.add_argument("--json", metavar="FILE", help="write every outcome there")
    return parser.parse_args()


def _reach_map(options: argparse.Namespace) -> ReachMap:
    notes = [WORK / f"reach-{number}.json" for number in range(2)]
    if options.map or not all(note.exists() for note in notes):
        print("finding out which tests reach which lines", flush=True)
        WORK.mkdir(parents=True, exist_ok=True)
        places = [argument for area in AREAS.values() for place in area for argument in ("--reach-in", place)]
        places_of_tests = [ROOT / place for place in TESTS]
        files = sorted(
            path
            for place in places_of_tests
            for path in ([place] if place.suffix else place.rglob("test_*.py"))
        )
        command = [sys.executable, "-m", "pytest", "-q", "-p", "prove.reach", *places]
        runs = [
            subprocess.Popen(
                [*command, "--reach", note, *files[number::2]],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": "tools", "HYPOTHESIS_PROFILE": "ci"},
                stdin=subprocess.DEVNULL,
                stdout=(WORK / f"reach-{number}.log").open("wb"),
                stderr=subprocess.STDOUT,
            )
            for number, note in enumerate(notes)
        ]
        for run in runs:
            run.wait()
        missing = [note for note in notes if not note.exists()]
        if missing:
            sys.exit(f"the tests did not run: see {WORK / 'reach-0.log'}")
    return ReachMap(sorted(WORK.glob("reach-*.json")), ROOT)


class _Run:
    """Tries mistakes beside each other, each worker in a copy of its own."""

    def __init__(self, mutants: Sequence[Mutant], options: argparse.Namespace, reach: ReachMap) -> None:
        self._mutants = mutants
        self._workers = options.workers
        self._reach = reach
        self._kept = Kept(WORK / "outcomes" / f"{state_of(ROOT)}.ndjson")
        self._benches: list[Bench] = []
        if options.again or options.mutant:
            self._kept.outcomes.clear()

    def outcomes(self) -> list[Outcome]:
        known = [mutant for mutant in self._mutants if mutant in self._kept.outcomes]
        wanted = [mutant for mutant in self._mutants if mutant not in self._kept.outcomes]
        if known:
            print(f"{len(known)} mistakes were tried before; --again tries them again", flush=True)
        if wanted or not all(self._kept.outcomes[mutant].confirmed for mutant in known):
            workers = min(self._workers, len(wanted)) or 1
            print(
                f"{len(wanted)} mistakes to try, {workers} at a time: {self._minutes(len(wanted))}",
                flush=True,
            )
            imports = imports_of_tests(ROOT)
            folders = [WORK / f"copy-{number}" for number in range(workers)]
            self._benches = [
                Bench(folder, make_copy(ROOT, folder), self._reach, imports) for folder in folders
            ]
            try:
                self._confirm(wanted)
            except KeyboardInterrupt:
                for bench in self._benches:
                    bench.stop()
                sys.exit("stopped: the same command goes on from here, as long as no Python changes")
        return [self._kept.outcomes[mutant] for mutant in self._mutants]

    def _confirm(self, wanted: Sequence[Mutant]) -> None:
        """What was noticed by tests that fail without the mistake, too, is tried again without these."""
        unsound = set(self._reach.failed)
        while True:
            self._try(wanted, unsound)
            print("running the tests that noticed, without mistakes", flush=True)
            outcomes = [self._kept.outcomes[mutant] for mutant in self._mutants]
            found = self._benches[0].unsound([outcome for outcome in outcomes if not outcome.confirmed])
            unsound |= found
            for test in sorted(found):
                print(f"fails without a mistake: {test}", flush=True)
            wanted = [outcome.mutant for outcome in outcomes if outcome.noticed_by in unsound]
            for outcome in outcomes:
                if not outcome.confirmed and outcome.mutant not in wanted:
                    self._kept.add(replace(outcome, confirmed=True))
            if not wanted:
                return

    def _try(self, mutants: Sequence[Mutant], unsound: set[str]) -> None:
        left: SimpleQueue[Mutant] = SimpleQueue()
        for mutant in mutants:
            left.put(mutant)
        tried: list[Outcome] = []

        def work(bench: Bench) -> None:
            while True:
                try:
                    mutant = left.get_nowait()
                except Empty:
                    return
                outcome = bench.try_mutant(mutant, unsound)
                tried.append(outcome)
                self._kept.add(outcome)
                if outcome.kind == SURVIVED:
                    print(f"survived {mutant.name} (line {mutant.line}): {outcome.tried} tests", flush=True)
                if len(tried) % 10 == 0:
                    survived = sum(outcome.kind == SURVIVED for outcome in tried)
                    rest = self._minutes(len(mutants) - len(tried))
                    print(
                        f"{len(tried)} of {len(mutants)} tried, {survived} survived, {rest} left", flush=True
                    )

        threads = [Thread(target=work, args=(bench,), daemon=True) for bench in self._benches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _minutes(self, count: int) -> str:
        return f"about {count * self._kept.seconds_each() / self._workers / 60:.0f} minutes"


if __name__ == "__main__":
    sys.exit(main())
