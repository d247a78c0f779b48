"""A stored session is loaded by a client in another process: ours from SQLite, the others' from memory.

The peers keep no sessions, so their agents replay the same updates from a list that is made beforehand.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness.processes import run
from peers.table import Peer
from scenarios.orders import carry_out
from scenarios.scenario import Scenario


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 10_000 if quick else 50_000
    order = {"do": "replay", "count": count}
    with tempfile.TemporaryDirectory() as folder:
        kept = peer.programs.get("kept")
        agent = None if kept is None else [*kept, str(Path(folder, "sessions.db"))]
        if agent is not None:
            run([*agent, str(count)], seconds=60)
        result = carry_out(peer, order, seconds=90, agent=agent)
    return {
        "load.rate": count / result["wall"],
        "load.agent_mb": result["agent"]["peak_kb"] / 1024,
    }


LOAD = Scenario("load", ("client", "agent"), _measure)
