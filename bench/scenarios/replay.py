"""A session is loaded: mixed updates of every common kind arrive before the answer."""

from __future__ import annotations

from peers.table import Peer
from scenarios.orders import carry_out
from scenarios.scenario import Scenario


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 10_000 if quick else 50_000
    result = carry_out(peer, {"do": "replay", "count": count}, seconds=90)
    return {"replay.rate": count / result["wall"]}


REPLAY = Scenario("replay", ("client", "agent"), _measure)
