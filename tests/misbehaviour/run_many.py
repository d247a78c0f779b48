"""Hundreds of conversations with the agent that misbehaves, and a look at what is left behind of them.

`python tests/misbehaviour/run_many.py --count 500` goes through `connect`, `supervised` and `dragoman run`,
to every point and in every way in turn, some at a time, and fails if one process, task, thread or descriptor
has survived. It prints the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # it is run as a script

from tests.misbehaviour.agent import POINTS, WAYS
from tests.misbehaviour.leaks import Held, look, strays
from tests.misbehaviour.runs import run_through
from tests.misbehaviour.tour import SECONDS, walk_connected, walk_supervised

DRIVERS = ("connect", "connect", "supervised", "connect", "supervised", "connect", "run")


def journeys() -> Iterator[tuple[str, str, str]]:
    """Who drives, where it happens and how; for ever, and without a beat between the three."""
    for number in itertools.count():
        driver = DRIVERS[number % len(DRIVERS)]
        yield driver, POINTS[number % len(POINTS)], WAYS[(number // 2) % len(WAYS)]


async def travel(driver: str, point: str, way: str, folder: Path) -> str:
    """One conversation; how its last step that did not succeed ended, if there was one."""
    folder.mkdir()
    if driver == "run":
        return f"status {(await run_through(point, way, folder)).status}"
    walk = walk_connected if driver == "connect" else walk_supervised
    steps = await walk(point, way, folder, SECONDS)
    failed = [step.partition(": ")[2] for step in steps if not step.endswith(": done")]
    return failed[0] if failed else "done"


async def many(count: int, together: int, folder: Path) -> tuple[Counter[str], dict[str, list[str]]]:
    """That many conversations; how they ended, and what is left of them."""
    await travel("connect", "never", "exit", folder / "first")  # what is made once is not left behind
    await travel("supervised", "never", "exit", folder / "second")
    before, room, ends = look(), asyncio.Semaphore(together), Counter[str]()

    async def one(number: int, driver: str, point: str, way: str) -> None:
        async with room:
            try:
                ends[await travel(driver, point, way, folder / str(number))] += 1
            except Exception as error:
                raise AssertionError(f"{driver}, at {point!r}, in the way {way!r}: {error}") from error

    async with asyncio.TaskGroup() as group:
        for number, journey in enumerate(itertools.islice(journeys(), count)):
            group.create_task(one(number, *journey))
    return ends, await settled(before)


async def settled(before: Held) -> dict[str, list[str]]:
    """What is more than before, after a moment for what is on its way out."""
    left = look().more_than(before)
    for _ in range(50):
        if not left:
            break
        await asyncio.sleep(0.02)
        left = look().more_than(before)
    return left


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--together", type=int, default=12)
    chosen = parser.parse_args()
    logging.getLogger("dragoman").addHandler(logging.NullHandler())  # it has much to say about this agent
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="run-many-") as name:
        ends, left = asyncio.run(many(chosen.count, chosen.together, Path(name)))
        if found := strays(Path(name)):
            left["strays"] = found
    print(f"{ends.total()} conversations in {time.monotonic() - began:.1f} s")
    for end, number in ends.most_common():
        print(f"  {number:4}  {end}")
    print(f"left behind: {left or 'no process, no task, no thread, no descriptor'}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
