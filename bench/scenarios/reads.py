"""The agent reads a file of the client's during a turn: one call at a time, then a thousand in flight."""

from __future__ import annotations

from peers.table import Peer
from scenarios.orders import carry_out
from scenarios.scenario import Scenario

WARM = {"do": "reads", "count": 3_000}
"""TypeScript needs half as long for a call when it has done so many."""


def _one_at_a_time(peer: Peer, *, quick: bool) -> dict[str, float]:
    order = {"do": "reads", "count": 1_000 if quick else 3_000}
    agent = carry_out(peer, order, warm=WARM, seconds=60)["agent"]
    return {"reads.p50_us": agent["p50_us"], "reads.p99_us": agent["p99_us"]}


def _in_flight(peer: Peer, *, quick: bool) -> dict[str, float]:
    order = {"do": "inflight", "count": 10_000 if quick else 20_000, "window": 1_000}
    result = carry_out(peer, order, warm=WARM, seconds=60)
    return {"inflight.rate": order["count"] / result["wall"]}


ONE = Scenario("reads", ("client", "agent"), _one_at_a_time)
MANY = Scenario("inflight", ("client", "agent"), _in_flight)
