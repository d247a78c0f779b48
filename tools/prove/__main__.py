"""Draws mistakes and says which of them no test notices.

    make prove SEED=7                                   # 300 mistakes, drawn by the number 7
    make prove SEED=7 ARGS="--area consent --mutants 40"
    make prove ARGS="--mutant packages/…/table.py:widen:4"   # one, named as the report names it

The first run finds out which tests reach which lines, which takes some minutes; `--map` does so again. A
mistake that changes nothing a person could notice is explained in `tests/prove_equivalents.toml`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from prove.copy import make_copy
from prove.mutants import AREAS, Mutant, draw, every_mutant
from prove.reach import ReachMap
from prove.trial import Bench, Outcome
from quick import imports_of_tests

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "prove"
EQUIVALENTS = ROOT / "tests" / "prove_equivalents.toml"

TESTS = (
    *(
        f"packages/hub/tests/hub/{name}"
        for name in ("gate", "judge", "session", "engine", "clients", "lending")
    ),
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
    outcomes = _try_all(mutants, options.workers, _reach_map(options))
    explained = _explanations()
    survivors = [outcome.mutant for outcome in outcomes if not outcome.noticed_by]
    open_ones = [mutant for mutant in survivors if _key(mutant) not in explained]
    if options.json:
        rows = [{**asdict(outcome), "explained": explained.get(_key(outcome.mutant))} for outcome in outcomes]
        Path(options.json).write_text(json.dumps(rows, indent=1), "utf-8")
    print(_table(outcomes, open_ones))
    for mutant in open_ones:
        print(f"\nsurvived: {mutant.name}, line {mutant.line}\n  - {mutant.before}\n  + {mutant.after}")
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
    parser.add_argument("--json", metavar="FILE", help="write every outcome there")
    return parser.parse_args()


def _reach_map(options: argparse.Namespace) -> ReachMap:
    notes = [WORK / f"reach-{number}.json" for number in range(2)]
    if options.map or not all(note.exists() for note in notes):
        print("finding out which tests reach which lines", flush=True)
        WORK.mkdir(parents=True, exist_ok=True)
        places = [argument for area in AREAS.values() for place in area for argument in ("--reach-in", place)]
        files = sorted(path for place in TESTS for path in (ROOT / place).rglob("test_*.py"))
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
    return ReachMap(notes, ROOT)


def _try_all(mutants: Sequence[Mutant], workers: int, reach: ReachMap) -> list[Outcome]:
    left: SimpleQueue[Mutant] = SimpleQueue()
    for mutant in mutants:
        left.put(mutant)
    outcomes: list[Outcome] = []
    imports = imports_of_tests(ROOT)

    def work(number: int) -> None:
        folder = WORK / f"copy-{number}"
        bench = Bench(folder, make_copy(ROOT, folder), reach, imports)
        while True:
            try:
                mutant = left.get_nowait()
            except Empty:
                return
            outcome = bench.try_mutant(mutant)
            outcomes.append(outcome)
            if not outcome.noticed_by:
                print(f"survived {mutant.name} (line {mutant.line}): {outcome.tried} tests", flush=True)
            if len(outcomes) % 20 == 0:
                print(f"{len(outcomes)} of {len(mutants)}", flush=True)

    threads = [Thread(target=work, args=(number,)) for number in range(min(workers, len(mutants)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    order = {mutant: place for place, mutant in enumerate(mutants)}
    return sorted(outcomes, key=lambda outcome: order[outcome.mutant])


def _explanations() -> dict[tuple[str, str, str, str], str]:
    """Why a mistake changes nothing. Its place is named by its text, which stays when lines move."""
    content = tomllib.loads(EQUIVALENTS.read_text("utf-8")) if EQUIVALENTS.exists() else {}
    return {
        (entry["path"], entry["operator"], entry["before"], entry["after"]): entry["why"]
        for entry in content.get("equivalent", [])
    }


def _key(mutant: Mutant) -> tuple[str, str, str, str]:
    return mutant.path, mutant.operator, mutant.before, mutant.after


def _table(outcomes: Sequence[Outcome], open_ones: Sequence[Mutant]) -> str:
    areas = [*dict.fromkeys(outcome.mutant.area for outcome in outcomes), "all"]
    drawn, noticed, survived = Counter[str](), Counter[str](), Counter[str]()
    for outcome in outcomes:
        for area in (outcome.mutant.area, "all"):
            drawn[area] += 1
            noticed[area] += bool(outcome.noticed_by)
            survived[area] += outcome.mutant in open_ones
    rows = (
        (area, drawn[area], noticed[area], drawn[area] - noticed[area] - survived[area], survived[area])
        for area in areas
    )
    head = ["", "| area | drawn | noticed | explained | survived |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
