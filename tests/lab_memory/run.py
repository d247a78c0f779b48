"""The lab of memory: `python -m tests.lab_memory.run`, or `make lab-memory ARGS="--seed 7"`.

Plays a world of people, agents and commands in a real folder through `dragoman run`, turns its history upside
down, and asks who wrote each line. It ends with a table and a verdict; the exit status says the same. What it
does and how it judges is in README.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fork_server import CommandForks
from tests.forks import for_commands
from tests.lab_memory import scenes_files, scenes_history
from tests.lab_memory.judge import HEAD, has_blame
from tests.lab_memory.kills import kills
from tests.lab_memory.lab import Lab, all_rows
from tests.lab_memory.rewinds import rewinds
from tests.lab_memory.scene import SCENES, play_scene
from tests.lab_memory.sizes import Reference, compare, month
from tests.lab_memory.stage import MODULES, Stage
from tests.lab_memory.world import World

CASES = (scenes_files, scenes_history)
"""Modules whose import fills `SCENES`."""
DIGESTS = Path(__file__).with_name("digests.json")
SMALL = (12, 400)
"""Turns and lines of the worlds whose digests are cheap to make."""


def known_digests(turns: int, lines: int) -> dict[str, str]:
    """By seed, for worlds of this size."""
    found: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found.get(f"{turns} turns, {lines} lines", {})


def is_as_committed(world: World) -> bool:
    """Whether the data are those that were fixed before the code; true for seeds that nobody has fixed."""
    known = known_digests(world.turns, world.lines).get(str(world.seed))
    return known is None or known == world.digest()


PARTS = ("world", "cases", "rewinds", "kills")
"""What a run does if it is not told otherwise; `month` too, if it is named."""


def main(arguments: Sequence[str] | None = None) -> int:
    reader = argparse.ArgumentParser(prog="python -m tests.lab_memory.run", description=__doc__)
    reader.add_argument("--seed", type=int, default=1, help="1 to 5 are fixed; any other is new (1)")
    reader.add_argument("--turns", type=int, default=300)
    reader.add_argument("--lines", type=int, default=0, help="as many as 10,000 in 300 turns, if not given")
    reader.add_argument(
        "--only", action="append", choices=(*PARTS, "month"), help="this part; may be repeated"
    )
    reader.add_argument("--case", action="append", choices=sorted(SCENES), help="this named case alone")
    reader.add_argument("--rewinds", type=int, default=1000)
    reader.add_argument("--rewind-turns", type=int, default=60, help="turns of the world that is rewound")
    reader.add_argument("--kills", type=int, default=20)
    reader.add_argument("--month-turns", type=int, default=60, help="turns from which a month is reckoned")
    reader.add_argument("--month-files", type=int, default=10_000)
    reader.add_argument("--keep", action="store_true", help="leave the folder, and say where it is")
    options = reader.parse_args(arguments)
    root = Path(tempfile.mkdtemp(prefix="lab-memory-"))
    forks = for_commands(*MODULES)
    failures: list[str] = []
    try:
        for part in options.only or (["cases"] if options.case else PARTS):
            say(f"-- {part}")
            failures += run_part(part, options, root, forks)
    finally:
        forks.close()
        if options.keep:
            print(f"kept: {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    for failure in failures:
        print(f"FAILED: {failure}")
    print("PASSED" if not failures else f"{len(failures)} FAILED")
    return 1 if failures else 0


def run_part(part: str, options: argparse.Namespace, root: Path, forks: CommandForks) -> list[str]:
    """One part of the lab; what failed. A part that breaks down has failed, and the others go on."""
    stage = Stage(root / part, forks)
    try:
        match part:
            case "world":
                return examination(world_of(options), stage, root)
            case "cases":
                return cases(options.case or list(SCENES), root, forks)
            case "rewinds":
                turns = options.rewind_turns
                world = World(options.seed, turns=turns, lines=turns * 100 // 3)
                return rewinds(world, stage, options.rewinds, say)
            case "kills":
                return kills(stage, options.seed, options.kills, say)
            case _:
                return month(stage, options.seed, options.month_turns, options.month_files, say)
    except AssertionError as error:
        return [f"{part}: {type(error).__name__}: {error}"]


def world_of(options: argparse.Namespace) -> World:
    world = World(options.seed, turns=options.turns, lines=options.lines or options.turns * 100 // 3)
    if not is_as_committed(world):
        raise AssertionError(f"seed {options.seed} is not the world that was fixed: see digests.json")
    return world


def cases(names: Sequence[str], root: Path, forks: CommandForks) -> list[str]:
    failures = []
    for name in names:
        found = play_scene(name, root, forks)
        say(f"{name}: {'right' if not found else 'WRONG'}")
        failures += [f"{name}: {failure}" for failure in found]
    return failures


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def examination(world: World, stage: Stage, root: Path) -> list[str]:
    """Everything, from the first turn to the table; what failed."""
    lab = Lab(world, stage, say, Reference(root / "reference.git"))
    lab.play()
    lab.ask("before", all_rows(world.before), least=0.99)
    assert lab.reference is not None
    lab.failures += compare(stage, lab.reference, say)
    lab.upheave()
    print(HEAD)
    for controls, figures in lab.tables:
        print(*(row.row() for row in (*controls, figures) if row is not None), sep="\n")
    for _, figures in lab.tables:
        for example in figures.examples if figures is not None else ():
            print(f"  {example}")
    if not has_blame(stage):
        lab.failures.append("there is no `dragoman blame` yet: these are the control's figures alone")
    return lab.failures


if __name__ == "__main__":
    raise SystemExit(main())
