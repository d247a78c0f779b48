"""A line to a mirror and back, alone and through `dragoman tap`: what the tap adds.

The mirror says every chunk that it hears. A line is sent when the one before has come back, with a pause in
between, as an editor and an agent do; the delays are sorted, and those of the bare mirror subtracted. What it
costs to record a frame is measured without pipes, in the processor's time.
"""

from __future__ import annotations

import json
import os
import select
import sys
import tempfile
import time
from pathlib import Path

from harness.processes import Failed, piped, run
from peers.table import Peer, venv_python
from scenarios.scenario import Scenario

MIRROR = "import os\nwhile chunk := os.read(0, 65536): os.write(1, chunk)"
LINE = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"%b"}}\n' % (b"x" * 120)
PAUSE = 0.002


def _measure(peer: Peer, *, quick: bool) -> dict[str, float]:
    count = 400 if quick else 2000
    mirror = [sys.executable, "-I", "-S", "-c", MIRROR]
    with tempfile.TemporaryDirectory() as folder:
        record = ["--record", str(Path(folder) / "t.ndjson")]
        tap = [venv_python("dragoman"), "-m", "dragoman", "tap", *record, "--", *mirror]
        bare, tapped = _delays(mirror, count), _delays(tap, count)
    return {
        "tap.p50_us": (tapped[count // 2] - bare[count // 2]) * 1e6,
        "tap.p99_us": (tapped[count * 99 // 100] - bare[count * 99 // 100]) * 1e6,
    }


def _delays(command: list[str], count: int) -> list[float]:
    """Seconds from a line to its echo, sorted."""
    with piped(command) as (process, _):
        assert process.stdin is not None
        assert process.stdout is not None
        to, back = process.stdin.fileno(), process.stdout.fileno()
        for _ in range(20):  # until it is up and warm
            _echo(to, back)
        found = []
        for _ in range(count):
            found.append(_echo(to, back))
            time.sleep(PAUSE)
        process.stdin.close()
        process.wait(10)
    return sorted(found)


def _echo(to: int, back: int) -> float:
    began = time.perf_counter()
    os.write(to, LINE)
    left = len(LINE)
    while left:
        if not select.select([back], [], [], 20)[0]:
            raise Failed("nothing came back within 20 s")
        left -= len(os.read(back, left))
    return time.perf_counter() - began


def _record(peer: Peer, *, quick: bool) -> dict[str, float]:
    printed = run(peer.programs["recorder"], seconds=120).stdout
    return {f"tap-record.us_{size}": used for size, used in json.loads(printed).items()}


TAP_RECORD = Scenario("tap-record", ("recorder",), _record)

TAP = Scenario("tap", ("interpreter",), _measure)
"""Only ours takes part: whoever has an interpreter has a tap."""
