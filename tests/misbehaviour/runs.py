"""`dragoman run` with the agent that misbehaves somewhere on the way."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path

from dragoman.testing.pace import patience
from dragoman_app.apps.run.exits import EXITS
from tests.faults.client.faulty_run import AT_ONCE, Result, complete_in_fork, running
from tests.misbehaviour.agent import POINTS, WAYS
from tests.misbehaviour.tour import AGENT

TIMES = {"--start-timeout": 3, "--silence": 1, "--timeout": 4}
"""Seconds. An agent that behaves must be faster, and so it has more of them on a busy machine."""
IN_TIME = 25.0
WAITING = ("waiting", "cancel asked", "cancel answered")
OURS = EXITS["failed"].status
KNOWN = {one.status for one in EXITS.values()} - {OURS}

PAIRS = [(point, WAYS[number % len(WAYS)]) for number, point in enumerate(POINTS)]
"""Each point in one way, each way at several points: a run costs more than a walk within a test."""


async def run_through(point: str, way: str, place: Path) -> Result:
    """One run, with a cancel where the point wants one; what must always hold has been checked.

    A run that gets a signal is a process of its own, the others are forks.
    """
    notes = place / "notes"
    words = [sys.executable, "-S", "-E", str(AGENT), point, way, str(notes)]
    waits = point in WAITING
    session = ["--session", "s-1"] if point.startswith("load") else ["--mode", "b"]
    stretch = patience(1) if point == "never" or waits else 1
    times = [word for name, seconds in TIMES.items() for word in (name, f"{seconds * stretch:g}")]
    options = [*times, *AT_ONCE, "--approve", "all", *session]
    command = shlex.join(words)
    if waits:
        run = await _cancelled(place, options, command)
    else:
        run = await complete_in_fork("", "", place, *options, command=command)
    # A Ctrl-C may come when all is over, and then it is Python that ends by it.
    late = {-signal.SIGINT} if waits else set()
    assert run.status in KNOWN | late, (point, way, run.status, run.err)
    return run


async def _cancelled(place: Path, options: list[str], command: str) -> Result:
    async with running("", "", place, *options, command=command, words=["wait"]) as run:
        run.peer.close_stdin()
        await run.peer.read_until(lambda line: b'"waiting"' in line, seconds=IN_TIME)
        run.peer.send_signal(signal.SIGINT)
        return await run.done(seconds=IN_TIME)
