"""Two hundred sessions at once, with the scripted agent: in one process of it, and in one process each.

Nobody else has a pool, so nobody else is measured. Turns are held open until all of them are under way; the
time is what is left without that.
"""

from __future__ import annotations

import json

from harness.processes import Failed, run
from peers.table import Peer
from scenarios.scenario import Scenario

COUNT = 200
QUICK_COUNT = 50
HOLD = 2.0
"""Seconds that a turn is held open in one agent; opening two hundred sessions takes less."""


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = QUICK_COUNT if quick else COUNT
    result = json.loads(run([*peer.programs["pool"], str(count), str(HOLD)], seconds=240).stdout)
    one, many = result["one"], result["many"]
    for name, found in (("one agent", one), ("many agents", many)):
        if found["done"] != count:
            raise Failed(f"{name}: {found['done']} of {count} sessions came to their end")
    return {
        "pool.wall_s": one["wall"] - HOLD,
        "pool.client_kb": one["kb"] / count,
        "pool.agent_kb": one["agent_kb"] / count,
        "pool.start_s": many["started"],
        "pool.many_s": many["wall"] - HOLD,
        "pool.many_kb": many["whole_kb"] / count,
    }


POOL = Scenario("pool", ("pool",), _measure, rounds=1)
