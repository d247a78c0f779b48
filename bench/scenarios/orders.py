"""Gives an order to a peer's client, which passes it to the peer's agent, and checks that it was carried out.

Checked is what the client counted, so that no peer is fast by losing something: a wrong count is a failure.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from harness.processes import Failed, run
from peers.measure import load_mix
from peers.table import Peer

Order = dict[str, Any]


def carry_out(
    peer: Peer,
    order: Order,
    *,
    warm: Order | None = None,
    seconds: float,
    agent: list[str] | None = None,
    client: list[str] | None = None,
) -> dict[str, Any]:
    """``agent`` and ``client`` are commands of others than the peer's usual ones."""
    plan = json.dumps({"warm": warm, "order": order})
    command = [*(client or peer.programs["client"]), plan, *(agent or peer.programs["agent"])]
    finished = run(command, seconds=seconds)
    lines = finished.stdout.strip().splitlines()
    if not lines:
        raise Failed("the client printed no result")
    result: dict[str, Any] = json.loads(lines[-1])
    _check(order, result)
    return result


def _check(order: Order, result: dict[str, Any]) -> None:
    for what, wanted in _expected(order).items():
        if result[what] != wanted:
            raise Failed(f"{what}: {result[what]} instead of {wanted}")


def _expected(order: Order) -> dict[str, Any]:
    match order["do"]:
        case "stream":
            chars = order["count"] * order["size"]
            return {"kinds": {"agent_message_chunk": order["count"]}, "chars": chars}
        case "replay":
            mix = load_mix()
            sent = [mix[n % len(mix)] for n in range(order["count"])]
            texts = [u["content"]["text"] for u in sent if isinstance(u.get("content"), dict)]
            return {"kinds": Counter(u["sessionUpdate"] for u in sent), "chars": sum(map(len, texts))}
        case "length":
            return {"last": str(order["size"])}
        case _:
            return {"reads": order["count"]}
