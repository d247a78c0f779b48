"""Idle connections: both ends in one process, initialized, one session each; the memory that a pair keeps."""

from __future__ import annotations

import json

from harness.processes import run
from peers.table import Peer
from scenarios.scenario import Scenario

COUNT = 500


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = json.loads(run([*peer.programs["pairs"], str(COUNT)], seconds=60).stdout)
    return {"pairs.kb": result["grown_kb"] / result["pairs"]}


PAIRS = Scenario("pairs", ("pairs",), _measure)
