"""The terminal client's scenarios: a program in a terminal of ours, which is looked at from both sides."""

from __future__ import annotations

import json
from typing import Any

from harness.processes import Failed, run
from peers.table import Peer
from scenarios.scenario import Scenario

RATE = 1000


def _program(peer: Peer, *words: str | int) -> Any:
    printed = run([*peer.programs["chat"], *map(str, words)], seconds=180).stdout
    if not printed.strip():
        raise Failed("the program printed no result")
    return json.loads(printed.strip().splitlines()[-1])


def _stream(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = _program(peer, "stream", RATE, 6 if quick else 12)
    return {
        "chat-stream.key_p50": result["key_p50"] * 1e3,
        "chat-stream.key_p99": result["key_p99"] * 1e3,
        "chat-stream.stall": result["stall_cpu"] * 1e3,
        "chat-stream.cpu": result["cpu"] * 100,
    }


def _open(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 10_000 if quick else 50_000
    agent, hub = _program(peer, "open", count, "agent"), _program(peer, "open", count, "hub")
    return {
        "chat-open.start": agent["empty"],
        "chat-open.agent": agent["whole"] - agent["empty"],
        "chat-open.agent_cpu": agent["whole_cpu"] - agent["empty_cpu"],
        "chat-open.hub": hub["whole"] - hub["empty"],
        "chat-open.hub_cpu": hub["whole_cpu"] - hub["empty_cpu"],
    }


CHAT_SCENARIOS: list[Scenario] = [
    Scenario("chat-stream", ("chat",), _stream, rounds=3),
    Scenario("chat-open", ("chat",), _open, rounds=3, rehearsed=True),
]
