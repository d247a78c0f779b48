"""An interpreter between a raw producer of updates and a reader: updates that pass as they are, and updates
that are translated one by one.

Passing is measured against our own plain relay, which glances at every envelope, in the same run. Translating
is measured against what the peers' relays do with the same updates without translating them.
"""

from __future__ import annotations

from peers.table import Peer
from scenarios.relay import relayed
from scenarios.scenario import Scenario

PASSED, TRANSLATED = "koog", "crow"
"""Dialects of the client: one that takes plain updates as they are, one that writes them in its own way."""

GREETING = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"protocol_version":1}}\n'
)
"""Understood in both: who is who is settled before anything is measured."""


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    if "interpreter" not in peer.programs:
        return {"interpret.rate": relayed(peer.programs["relay"], quick=quick)}
    program = peer.programs["interpreter"]
    plain = relayed(peer.programs["relay"], quick=quick)
    passed = relayed([*program, PASSED], quick=quick, greeting=GREETING)
    return {
        "interpret.passed": plain / passed,
        "interpret.rate": relayed([*program, TRANSLATED], quick=quick, greeting=GREETING),
    }


INTERPRET = Scenario("interpret", ("relay",), _measure)
