"""How long a test waits before it reports a hang: longer on a slow or busy machine.

A deadline of a test says "this hangs", never "this is slow": speed is measured by benchmarks. So every
deadline is written for a quiet machine and multiplied by `pace()` when it is used:

    process.wait(timeout=patience(10))
    async with deadline(5): ...

`deadline` looks again when its time is up, because the load may have come after the test began.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

LONGEST = 20.0
"""The largest pace: a larger one would only hide hangs, because no process of ours waits so long for a
processor.
"""

QUIET_SECONDS = 0.06
"""The seconds that the loop of `_slowness` takes on the processor for which the deadlines were written."""


def patience(seconds: float) -> float:
    """Return the deadline for this machine in its current state."""
    return seconds * pace()


def pace() -> float:
    """Return 1 on a quiet machine; on a busy one, twice the number of processes per core."""
    return min(LONGEST, _slowness() * max(1.0, 2 * _load() / (os.cpu_count() or 1)))


def _load() -> float:
    """Processes that want a core: the average of the last minute, or of this moment if that is more."""
    file = _load_file()
    if file is None:  # not Linux
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    average, _, _, tasks, _ = os.pread(file, 200, 0).split()
    return max(float(average), float(tasks.split(b"/")[0]))


@cache
def _load_file() -> int | None:
    """Opened once, for good: a watchdog asks from its own thread while tests count what is open."""
    try:
        return os.open("/proc/loadavg", os.O_RDONLY)
    except OSError:
        return None


@cache
def _slowness() -> float:
    """How much slower this processor is; its own time is counted, so load does not matter."""
    began = time.process_time()
    total = 0
    for number in range(400_000):
        total += number
    return max(1.0, (time.process_time() - began) / QUIET_SECONDS)


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[None]:
    """Like `asyncio.timeout`, with `patience`; extended while the machine is busier than at the start."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer: asyncio.TimerHandle | None = None
    async with asyncio.timeout(None) as timeout:

        def expire_or_look_again() -> None:
            nonlocal timer
            ends = began + patience(seconds)
            if ends <= loop.time():
                timeout.reschedule(loop.time())
            else:
                timer = loop.call_at(ends, expire_or_look_again)

        timer = loop.call_at(began + seconds, expire_or_look_again)
        try:
            yield
        finally:
            timer.cancel()
