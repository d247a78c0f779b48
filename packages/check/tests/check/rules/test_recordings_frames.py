"""What the rules about frames, handshakes and content find in what real agents and clients have sent.

Every finding was looked at, and is true. The client that drove the agents sent wrong things on purpose.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_app.cli.recordings import read_recording
from dragoman_check.manifest import Side, requirements
from dragoman_check.verdict import judge
from tests.every import every
from tests.interop.recordings import ELSEWHERE

RECORDINGS = sorted(ELSEWHERE.glob("*/*.ndjson"))
AREAS = {"RPC", "INIT", "AUTH", "ERR", "STD", "EXT", "LEN", "CONT"}
MINE = [one.id for one in requirements().values() if one.area in AREAS]

FAILED: dict[tuple[str, Side], set[str]] = {
    ("codex-zed", "agent"): {"RPC-03", "RPC-05"},  # errors without an id, also for notifications
    ("client-marimo", "client"): {"CONT-07"},  # a resource, and the agent takes none
}
PROBED = {"RPC-01", "RPC-03", "RPC-24", "CONT-01", "STD-04"}
"""What the driving client did to all agents that it examined thoroughly."""


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs")
@every("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_found_in_recordings_is_known(path: Path) -> None:
    recording = read_recording(path)
    for side in ("agent", "client"):
        failed = {one.requirement for one in judge([recording], side, only=MINE) if one.status == "failed"}
        known = FAILED.get((path.stem, side), set())
        is_probing = side == "client" and path.parent.name == "agents-v1"
        assert failed <= known | (PROBED if is_probing else set())
        assert known <= failed
