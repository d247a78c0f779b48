"""What an SDK costs before the first prompt: its import, and an agent from its start to ``initialize``."""

from __future__ import annotations

import json
import os
import select
import time
from functools import partial

from harness.processes import Failed, piped, run, stderr_text
from peers.table import Peer
from scenarios.scenario import Scenario

SECONDS = 30
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": {}},
}


def _import(peer: Peer, *, quick: bool, program: str) -> dict[str, float]:
    return {f"{program}.cpu_ms": run(peer.programs[program], seconds=SECONDS).cpu_seconds * 1e3}


def _start(peer: Peer, *, quick: bool) -> dict[str, float]:
    began = time.perf_counter()
    with piped(peer.programs["echo"]) as (process, err):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        line = _first_line(process.stdout.fileno(), began + SECONDS)
        taken = time.perf_counter() - began
        if json.loads(line or b"{}").get("result", {}).get("protocolVersion") != 1:
            raise Failed(f"initialize was answered with {line!r} {stderr_text(err)[-200:]}")
    return {"start.ms": taken * 1e3}


def _first_line(fd: int, deadline: float) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([fd], [], [], max(0.0, deadline - time.perf_counter()))[0]:
            raise Failed(f"initialize was not answered within {SECONDS} s")
        data = os.read(fd, 65536)
        if not data:
            break
        line += data
    return line


IMPORT = Scenario("import", ("import",), partial(_import, program="import"), rounds=7, rehearsed=True)
IMPORT_USED = Scenario(
    "import_used", ("import_used",), partial(_import, program="import_used"), rounds=7, rehearsed=True
)
IMPORT_ALL = Scenario("import_all", ("import_all",), partial(_import, program="import_all"), rehearsed=True)
START = Scenario("start", ("echo",), _start, rounds=9, rehearsed=True)
