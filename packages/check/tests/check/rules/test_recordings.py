"""What the rules about sessions and turns find in what real agents and clients of version 1 have sent.

Every finding was looked at, and is true. The client that drove the agents sent wrong things on purpose.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_app.cli.recordings import read_recording
from dragoman_check.manifest import Side
from dragoman_check.verdict import judge
from tests.check.test_timeline import MINE
from tests.every import every
from tests.interop.recordings import ELSEWHERE

RECORDINGS = [path for path in sorted(ELSEWHERE.glob("*/*.ndjson")) if path.parent.name != "agents-v2"]

FAILED: dict[tuple[str, Side], set[str]] = {
    ("codex", "agent"): {"LOAD-03"},  # an error told as a message is not replayed
    ("gemini", "agent"): {"LOAD-04"},  # it replays after its answer
    ("client-marimo", "client"): {"TURN-02"},
}
PROBED = {"SES-01", "SES-02", "TURN-01"}
"""What the driving client did to all agents that it examined thoroughly."""


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs")
@every("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_found_in_recordings_is_known(path: Path) -> None:
    recording = read_recording(path)
    for side in ("agent", "client"):
        failed = {one.requirement for one in judge([recording], side, only=MINE) if one.status == "failed"}
        known = FAILED.get((path.stem, side), set())
        assert failed <= known | (PROBED if side == "client" else set())
        assert known <= failed
