"""`check` accuses no real program wrongly: each failure that it finds in recordings was read in its frames.

A failure that is not in the table fails here, until somebody has looked at its frames and found that the
program is wrong, or has mended the rule. The client that drove the agents sent wrong things on purpose.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_app.cli import main
from tests.interop.recordings import ELSEWHERE

RECORDINGS = sorted(ELSEWHERE.glob("*/*.ndjson"))
CONFIRMED: dict[tuple[str, str, str], str] = {
    ("codex-zed", "agent", "RPC-03"): "errors without the member id, which must be null there",
    ("codex-zed", "agent", "RPC-05"): "a notification that it does not know is answered with such an error",
    ("codex", "agent", "LOAD-03"): "what it said of a failed model call is not replayed",
    ("gemini", "agent", "SES-03"): "session/new without mcpServers is refused with -32603",
    ("gemini", "agent", "LOAD-04"): "it answers session/load, and replays afterwards",
    ("crow2", "agent", "CMD-02"): "commands without a type, as in an earlier draft",
    ("client-acpx", "agent", "TOOL-03"): "the agent behind it uses one id for two calls",
    ("client-marimo", "client", "TURN-02"): "it sends a resource to an agent that takes none",
    ("client-marimo", "client", "CONT-07"): "the same block",
}
"""What real programs do wrong, by recording, side and requirement; each was read in its frames."""


@pytest.mark.slow
@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs in ../shared/wire")
def test_no_failure_in_the_recordings_is_a_false_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    failures = {failure for path in RECORDINGS for failure in _failures(path, capsys)}
    assert failures == CONFIRMED.keys()


def _failures(path: Path, capsys: pytest.CaptureFixture[str]) -> set[tuple[str, str, str]]:
    main(["check", "trace", str(path), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    return {
        (path.stem, part["side"], verdict["requirement"])
        for part in report["parts"]
        for verdict in part["verdicts"]
        if verdict["status"] == "failed" and part["peer"] != "raw-drive 0.1.0"
    }
