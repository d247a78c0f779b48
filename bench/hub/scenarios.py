"""The hub's scenarios: each runs a program of this folder, which starts the hub and everything around it.

Against the peers: their own agent behind their own WebSocket server, without a hub and without a journal, and
their own client. Nobody else keeps sessions, so the rest is ours alone.
"""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from harness.processes import Failed, run
from peers.table import Peer
from scenarios.orders import carry_out
from scenarios.scenario import Scenario

SIZE = 20
SESSIONS = (1, 10, 100, 1000)
PACED_SESSIONS = (1, 20)


def _program(peer: Peer, name: str, *words: str | int, seconds: float) -> Any:
    printed = run([*peer.programs[name], *map(str, words)], seconds=seconds).stdout
    if not printed.strip():
        raise Failed("the program printed no result")
    return json.loads(printed.strip().splitlines()[-1])


def _direct(peer: Peer, order: dict[str, Any]) -> float:
    """Updates a second over a peer's own WebSocket."""
    programs = peer.programs
    result = carry_out(
        peer, order, seconds=180, client=programs["remote_client"], agent=programs["remote_agent"]
    )
    return float(order["count"] / result["wall"])


def _stream(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 10_000 if quick else 50_000
    if "remote_agent" in peer.programs:
        return {"hub-stream.rate": _direct(peer, {"do": "stream", "count": count, "size": SIZE})}
    result = _program(peer, "remote_client", "live", count, seconds=180)
    for name in ("ours", "bare"):
        if result[name]["count"] != count:
            raise Failed(f"{name}: {result[name]['count']} updates of {count} came")
    return _rates("hub-stream", result, count)


def _replay(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 10_000 if quick else 50_000
    if "remote_agent" in peer.programs:
        return {"hub-replay.rate": _direct(peer, {"do": "replay", "count": count})}
    result = _program(peer, "remote_client", "load", count, seconds=180)
    for name in ("ours", "bare"):
        if result[name]["count"] != count + 1:  # and the prompt
            raise Failed(f"{name}: {result[name]['count']} updates of {count + 1} came")
    return _rates("hub-replay", result, count)


def _rates(key: str, result: Any, count: int) -> dict[str, float]:
    ours, bare = result["ours"], result["bare"]
    return {
        f"{key}.rate": count / ours["wall"],
        f"{key}.bare": count / bare["wall"],
        f"{key}.hub_us": ours["hub_cpu"] / count * 1e6,
        f"{key}.client_us": ours["client_cpu"] / count * 1e6,
    }


def _delay(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = _program(peer, "hub_delay", 200 if quick else 1000, seconds=120)
    direct = result["direct"]
    return {
        f"hub-delay.{durability}_{part}": (result[durability][f"{part}_us"] - direct[f"{part}_us"]) / 1e3
        for durability in ("full", "off")
        for part in ("p50", "p99")
    }


def _memory(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 200 if quick else 1000
    result = _program(peer, "hub_memory", count, seconds=240)
    alone = _program(peer, "hub_idle", 5 * count, seconds=240)
    return {
        "hub-memory.session_kb": result["sessions"] / count,
        "hub-memory.alone_kb": alone["bytes"] / 1024,
        "hub-memory.connection_kb": result["connections"] / count,
    }


def _many(peer: Peer, *, quick: bool) -> dict[str, float]:
    total = 20_000 if quick else 50_000
    results = _program(peer, "hub_many", total, *SESSIONS, seconds=600)
    figures: dict[str, float] = {}
    for folders, of_folders in results.items():
        for number in SESSIONS:
            found = of_folders[str(number)]
            if not found["whole"]:
                raise Failed(f"of {number} sessions, one lost something or its order")
            key = f"{folders}_{number}"
            figures[f"hub-many.rate_{key}"] = total / found["wall"]
            figures[f"hub-many.us_{key}"] = found["cpu"] / total * 1e6
            figures[f"hub-many.kb_{key}"] = found["peak_kb"] / number
            figures[f"hub-many.fair_{key}"] = found["fairness"]
        most = of_folders[str(SESSIONS[-1])]
        figures[f"hub-many.start_ms_{folders}"] = most["start_cpu"] / SESSIONS[-1] * 1e3
        figures[f"hub-many.start_s_{folders}"] = most["start"]
    return figures


def _restart(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = _program(peer, "hub_restart", 2_000 if quick else 10_000, 20, seconds=240)
    return {f"hub-restart.{name}": seconds for name, seconds in result.items()}


def _fairness(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = _program(peer, "hub_fairness", 50 if quick else 200, "leaving", seconds=240)["leaving"]
    alone, beside = result["alone"], result["beside"]
    return {
        "hub-fairness.ratio": beside["p50_ms"] / alone["p50_ms"],
        "hub-fairness.hub_mb": beside["hub_mb"],
        "hub-fairness.keeper_mb": beside["keeper_mb"],
    }


def _text(peer: Peer, *, quick: bool) -> dict[str, float]:
    counts = (5_000, 1_000) if quick else (50_000, 10_000)
    result = _program(peer, "hub_text", *counts, seconds=180)
    figures: dict[str, float] = {}
    for (size, found), count in zip(result.items(), counts, strict=True):
        if found["count"] != count:
            raise Failed(f"{found['count']} updates of {count} came")
        figures[f"hub-text.rate_{size}"] = count / found["wall"]
        figures[f"hub-text.hub_us_{size}"] = found["hub_cpu"] / count * 1e6
    return figures


def _pace(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 100 if quick else 1_000
    results = _program(peer, "hub_pace", count, *PACED_SESSIONS, seconds=240)
    figures = {f"hub-pace.{name}": value for name, value in results.pop("floor").items()}
    for sessions, found in results.items():
        if found["came"] != count * int(sessions):
            raise Failed(f"{found['came']} updates of {count * int(sessions)} came")
        figures[f"hub-pace.us_{sessions}"] = found["hub_cpu"] / found["came"] * 1e6
        figures[f"hub-pace.bytes_{sessions}"] = found["written"] / found["came"]
    return figures


def _turn(peer: Peer, *, quick: bool) -> dict[str, float]:
    results = _program(peer, "hub_turn", 10 if quick else 100, *PACED_SESSIONS, seconds=240)
    figures = {
        f"hub-turn.ms_{sessions}": found["cpu"] / found["turns"] * 1e3 for sessions, found in results.items()
    }
    return {**figures, "hub-turn.kb": results["1"]["written"] / results["1"]["turns"] / 1e3}


def _question(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = _program(peer, "hub_question", 60 if quick else 500, PACED_SESSIONS[-1], seconds=240)
    if result["came"] != result["said"]:
        raise Failed(f"{result['came']} updates of {result['said']} came")
    return {f"hub-question.{part}": result[f"{part}_us"] / 1e3 for part in ("p50", "p99")}


def _first_word(peer: Peer, *, quick: bool) -> dict[str, float]:
    result = _program(peer, "hub_first_word", 5_000 if quick else 20_000, 4, seconds=240)
    # The first turn of a folder has to read it, beside the agent.
    empty, full, git = (median(turn["ms"] for turn in result[name][1:]) for name in ("empty", "full", "git"))
    first = result["full"][0]["ms"] - result["empty"][0]["ms"]
    return {
        "hub-first-word.first_ms": first,
        "hub-first-word.more_ms": full - empty,
        "hub-first-word.git_ms": git - empty,
    }


def _search(peer: Peer, *, quick: bool) -> dict[str, float]:
    frames = 100_000 if quick else 1_000_000
    result = _program(peer, "hub_search", frames, seconds=240)[str(frames)]
    return {
        "hub-search.first_s": max(result["common_s"], result["rare_s"]),
        "hub-search.index_us": result["index_us"],
    }


HUB_SCENARIOS: list[Scenario] = [
    Scenario("hub-stream", ("remote_client",), _stream),
    Scenario("hub-replay", ("remote_client",), _replay),
    Scenario("hub-text", ("hub_text",), _text),
    Scenario("hub-pace", ("hub_pace",), _pace, rounds=1),
    Scenario("hub-turn", ("hub_turn",), _turn, rounds=3),
    Scenario("hub-question", ("hub_question",), _question, rounds=1),
    Scenario("hub-first-word", ("hub_first_word",), _first_word, rounds=1),
    Scenario("hub-delay", ("hub_delay",), _delay, rounds=1),
    Scenario("hub-fairness", ("hub_fairness",), _fairness, rounds=1),
    Scenario("hub-memory", ("hub_memory", "hub_idle"), _memory, rounds=1),
    Scenario("hub-many", ("hub_many",), _many, rounds=1),
    Scenario("hub-search", ("hub_search",), _search, rounds=1),
    Scenario("hub-restart", ("hub_restart",), _restart, rounds=3),
]
