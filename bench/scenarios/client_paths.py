"""Ways of a client that only Dragoman is asked about: event streams, async handlers, text that is kept, the
start of `dragoman run`.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from typing import Any

from harness.processes import Failed, run
from peers.table import BENCH, Peer, venv_python
from scenarios.scenario import Scenario

SECONDS = 180
RUNS = 5


def _result(command: list[str]) -> dict[str, Any]:
    lines = run(command, seconds=SECONDS).stdout.strip().splitlines()
    if not lines:
        raise Failed("the program printed no result")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _sse(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 20_000 if quick else 100_000
    # In the environment of the benchmark: it has the package for HTTP.
    result = _result([sys.executable, "-m", "sse.measure", str(count), "20"])
    if result["count"] != count:
        raise Failed(f"{result['count']} updates of {count} came")
    return {"sse.rate": count / result["wall"], "sse.client_us": result["cpu"] / count * 1e6}


def _handler(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 20_000 if quick else 100_000
    result = _result([*peer.programs["handler"], "handler", str(count), *peer.programs["agent"]])
    if result["count"] != count:
        raise Failed(f"{result['count']} updates of {count} came")
    return {"handler.client_us": result["cpu"] / count * 1e6}


def _kept(peer: Peer, *, quick: bool) -> dict[str, float]:
    size = 20_000_000 if quick else 100_000_000
    result = _result([*peer.programs["handler"], "kept", str(size), *peer.programs["agent"]])
    return {"kept.sizes": result["peak_kb"] * 1024 / result["bytes"]}


def _large_say(peer: Peer, *, quick: bool) -> dict[str, float]:
    size = 100_000_000
    command = [*peer.programs["handler"], "said", str(size), *peer.programs["large_say"]]
    return {"say.sizes": _result(command)["sizes"]}


def _run_start(peer: Peer, *, quick: bool) -> dict[str, float]:
    """`dragoman run` with the echo agent, from its start to its end; the agent's CPU is part of it."""
    alone = venv_python("dragoman_alone")
    walls, cpus = [], []
    with tempfile.TemporaryDirectory() as folder:
        agent = f"{alone} {BENCH / 'peers' / 'dragoman' / 'echo.py'}"
        home = ["env", f"XDG_STATE_HOME={folder}/state", f"XDG_DATA_HOME={folder}/data"]
        command = [
            *home,
            venv_python("dragoman"),
            "-m",
            "dragoman",
            "run",
            "hi",
            "--agent",
            agent,
            "--cwd",
            folder,
        ]
        for _ in range(RUNS + 1):
            began = time.perf_counter()
            finished = run(command, seconds=SECONDS)
            walls.append((time.perf_counter() - began) * 1e3)
            cpus.append(finished.cpu_seconds * 1e3)
    return {"run.ms": statistics.median(walls[1:]), "run.cpu_ms": statistics.median(cpus[1:])}


def _imports(peer: Peer, *, quick: bool) -> dict[str, float]:
    """CPU of the import and how many modules it loads beyond those of a bare interpreter."""
    figures = {}
    faces = {
        "imports": "from dragoman import Agent, Client, connect",
        "imports_asyncio": "import asyncio; from dragoman import Agent, Client, connect",
        "imports_blocking": "from dragoman.blocking import Agent, Client, connect",
        "imports_agent": "from dragoman.blocking import Agent, Turn, serve",
    }
    for name, code in faces.items():
        text = f"import sys; n = len(sys.modules); {code}; print(len(sys.modules) - n)"
        runs = [run([venv_python("dragoman_alone"), "-c", text], seconds=SECONDS) for _ in range(RUNS + 1)]
        figures[f"imports.{name}_ms"] = statistics.median(done.cpu_seconds for done in runs[1:]) * 1e3
        figures[f"imports.{name}_modules"] = float(runs[-1].stdout)
    return figures


CLIENT_SCENARIOS: list[Scenario] = [
    Scenario("sse", ("handler",), _sse),
    Scenario("handler", ("handler", "agent"), _handler),
    Scenario("kept", ("handler", "agent"), _kept, rounds=1),
    Scenario("say", ("large_say",), _large_say, rounds=1),
    Scenario("run", ("handler",), _run_start),
    Scenario("imports", ("handler",), _imports, rounds=1),
]
