"""What the rules about tools and what clients lend, and those of version 2, find in what real agents and
clients have sent. Every finding was looked at, and is true.
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
AREAS = frozenset({"TOOL", "PERM", "PLAN", "FS", "TERM", "ELIC"})
MINE = [name for name, one in requirements().items() if one.area in AREAS]

BROKEN: dict[tuple[str, Side], set[str]] = {
    ("claude", "agent"): {"TOOL-08"},  # calls are pending until they are completed
    ("claude-elicit", "agent"): {"TOOL-08"},
    ("claude-zed", "agent"): {"TOOL-03", "TOOL-08"},  # every call is announced twice
    ("gemini", "agent"): {"TOOL-22"},  # what it asks about is never announced
    ("gemini-nofs", "agent"): {"TOOL-22"},
    ("qwen-ask", "agent"): {"TOOL-08"},
    ("client-acpx", "agent"): {"TOOL-03", "TOOL-08"},  # two connections in one recording
    ("client-marimo", "agent"): {"TOOL-08"},
    ("client-toad", "agent"): {"TOOL-08"},
    ("client-ts", "agent"): {"TOOL-08"},
}


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs")
@every("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_found_in_recordings_is_known(path: Path) -> None:
    recording = read_recording(path)
    for side in ("agent", "client"):
        broken = {one.requirement for one in judge([recording], side, only=MINE) if one.broken}
        assert broken == BROKEN.get((path.stem, side), set())


SECOND = [path for path in RECORDINGS if path.parent.name == "agents-v2"]


@pytest.mark.skipif(not SECOND, reason="needs recordings of other people's programs")
@pytest.mark.parametrize("path", SECOND, ids=lambda path: path.stem)
def test_agents_of_version_2_are_judged_by_their_own_rules(path: Path) -> None:
    recording = read_recording(path)
    verdicts = {one.requirement: one.status for one in judge([recording], "agent")}
    # The commands of one of them have no type, which version 2 asks for, and it replays under other ids.
    failed = {name for name, status in verdicts.items() if status == "failed"}
    assert failed == ({"CMD-02", "RES-09"} if path.stem == "crow2" else set())
    for name in ("TURN-03", "TURN-06", "CAN-06", "UPD-02", "RES-04", "CLO-04"):
        assert verdicts[name] == "passed"
    for name in ("LOAD-03", "MODE-01", "FS-02"):
        assert verdicts[name] == "not applicable"
