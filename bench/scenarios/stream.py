"""An agent streams updates in one prompt turn; the client handles each through its typed API."""

from __future__ import annotations

from functools import partial

from peers.table import Peer
from scenarios.orders import carry_out
from scenarios.scenario import Scenario

WARM = 5_000
"""Updates before those that are measured: a just-in-time compiler needs as many to be itself."""


def _measure(peer: Peer, *, quick: bool, size: int, key: str, keep: bool = False) -> dict[str, float]:
    count = 20_000 if quick else 100_000
    warm = {"do": "stream", "count": WARM, "size": size}
    order = {"do": "stream", "count": count, "size": size, "keep": keep}
    result = carry_out(peer, order, warm=warm, seconds=120)
    return {
        f"{key}.rate": count / result["wall"],
        f"{key}.client_us": result["cpu"] / count * 1e6,
        f"{key}.agent_us": result["agent"]["cpu"] / count * 1e6,
    }


SMALL = Scenario("stream", ("client", "agent"), partial(_measure, size=20, key="stream"))
LARGE = Scenario("stream1k", ("client", "agent"), partial(_measure, size=1024, key="stream1k"))
# Only ours keeps the text of a turn, as the one loop that everybody is taught does.
KEPT = Scenario(
    "stream1k-kept",
    ("client", "agent", "handler"),
    partial(_measure, size=1024, key="stream1k-kept", keep=True),
)
