"""Looking on: what passes, what the rules think of it, and where to look."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_app.cli import main

RECORD = """{"transcript":1,"stream":"t"}
{"ts":1.0,"dir":"to_agent","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}}
{"ts":1.2,"dir":"to_client","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}}
{"ts":1.3,"dir":"to_agent","msg":{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}}
{"ts":1.4,"dir":"to_client","msg":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"tired"}}}
{"ts":1.5,"dir":"note","msg":{"event":"exit","status":0}}
"""


def test_a_recording_is_shown_with_what_is_wrong_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.ndjson").write_text(RECORD)
    assert main(["tap", "--folder", str(tmp_path), "attach"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "initialize: protocolVersion 1 after 200 ms" in shown[1]
    assert sum("⚑" in line and "agent" in line and "frame 4" in line for line in shown) >= 1
    assert shown[-1].endswith('exit: {"status":0}') or "⚑" in shown[-1]


def test_where_there_is_nothing_to_look_at_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tap", "--folder", str(tmp_path), "attach"]) == 2
    assert "Start one: dragoman tap -- COMMAND" in capsys.readouterr().err
    assert main(["tap", "attach", str(tmp_path / "none")]) == 2
