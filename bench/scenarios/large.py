"""One message of 100 MB: a prompt's text, whose length the agent answers."""

from __future__ import annotations

from peers.table import Peer
from scenarios.orders import carry_out
from scenarios.scenario import Scenario

SIZE = 100 * 1024 * 1024


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = carry_out(peer, {"do": "length", "size": SIZE}, seconds=60)
    return {
        "large.wall_s": result["wall"],
        "large.client_sizes": result["peak_kb"] * 1024 / SIZE,
        "large.agent_sizes": result["agent"]["peak_kb"] * 1024 / SIZE,
    }


LARGE = Scenario("large", ("client", "agent"), _measure)
