"""Many sessions at once through Dragoman's pool: in one agent, and in an agent each.

Arguments: how many, and the seconds for which every turn is held open, so that all of them are under way at
the same time. Memory is read in that moment, of this process and of the agent's. The scripted agent is what
is talked to; its own speed is part of the time.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dragoman import Pool, supervised
from dragoman.sdk.pool import PoolTask
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from peers.measure import memory_kb

SCRIPT = """agent held
  can close
on prompt quick
  say done
on prompt
  say begun
  wait {hold}
  say done
"""


class Moment:
    """Counts the sessions that have begun, and measures when all have."""

    def __init__(self, count: int, agents: list[SupervisedAgent]) -> None:
        self._left = count
        self._agents = agents
        self.kb = 0
        self.agent_kb = 0

    def begun(self, _: object) -> None:
        self._left -= 1
        if self._left == 0:
            gc.collect()
            self.kb = memory_kb("VmRSS")
            self.agent_kb = sum(map(_resident, self._agents))


def _resident(agent: SupervisedAgent) -> int:
    pid = agent.handle.link.transport.tree.pid  # type: ignore[attr-defined]
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


async def measured(command: list[str], count: int, agents: int) -> dict[str, float]:
    deadlines = Deadlines(handshake=120)  # hundreds of interpreters start at once
    made = [supervised(command, deadlines=deadlines, shell_path=False) for _ in range(agents)]
    gc.collect()
    bare = memory_kb("VmRSS")
    began = time.perf_counter()
    async with Pool(made, concurrency=count) as pool:
        # What the first session loads and caches is the price of the SDK and of an agent, not of a session.
        await pool.map([PoolTask(prompt="quick", cwd="/") for _ in range(agents)])
        started = time.perf_counter() - began
        gc.collect()
        before, idle = memory_kb("VmRSS"), sum(map(_resident, made))
        moment = Moment(count, made)
        turns = [PoolTask(prompt=str(n), cwd="/", on_update=_once(moment)) for n in range(count)]
        began = time.perf_counter()
        outcomes = await pool.map(turns)
        wall = time.perf_counter() - began
    return {
        "done": sum(outcome.kind == "done" for outcome in outcomes),
        "started": started,
        "wall": wall,
        "kb": moment.kb - before,
        "agent_kb": moment.agent_kb - idle,
        "whole_kb": moment.kb - bare,
    }


def _once(moment: Moment) -> Callable[[object], None]:
    seen = False

    def first(update: object) -> None:
        nonlocal seen
        if not seen:
            seen = True
            moment.begun(update)

    return first


async def main(count: int, hold: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "held.script"
        path.write_text(SCRIPT.format(hold=hold))
        command = [sys.executable, "-m", "dragoman", "agent", "script", str(path)]
        one = await measured(command, count, 1)
        many = await measured(command, count, count)
    print(json.dumps({"one": one, "many": many}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
