"""What `dragoman dialect` shows of recordings and of dialects."""

import json
from pathlib import Path

import pytest

from dragoman.dialect import DIALECTS
from dragoman_app.cli import main

FRAMES = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocol_version": 1}},
    {"jsonrpc": "2.0", "id": 1, "result": {"protocol_version": 1, "agent_info": {"name": "x"}}},
    {"jsonrpc": "2.0", "id": 2, "method": "cancel", "params": {"session_id": "s"}},
    {"jsonrpc": "2.0", "id": 3, "method": "cancel", "params": {"session_id": "s"}},
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.ndjson"
    path.write_text("".join(json.dumps(frame) + "\n" for frame in FRAMES))
    return path


def test_a_recording_is_explained_as_text(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialect", "explain", str(trace)]) == 3
    shown = capsys.readouterr().out
    assert "The client speaks crow.\n  frame 1: initialize has protocol_version: crow\n" in shown
    assert "The agent speaks crow." in shown
    assert "  the method cancel (2 times, first in frame 3)\n    fix: send the notification" in shown


def test_a_recording_is_explained_as_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialect", "explain", str(trace), "--json"]) == 3
    shown = json.loads(capsys.readouterr().out)
    assert (shown["frames"], shown["client"]["dialect"], shown["client"]["sure"]) == (4, "crow", True)
    assert shown["deviations"][0]["by"] == "client"


def test_a_recording_of_v1_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fine.ndjson"
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    path.write_text(json.dumps(first) + "\n")
    assert main(["dialect", "explain", str(path)]) == 0
    assert "Everything follows version 1." in capsys.readouterr().out


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialect", "explain", str(tmp_path / "none")]) == 1
    assert "no such file" in capsys.readouterr().err
    (tmp_path / "bad").write_text('{"dir": "sideways"}\n\n')
    assert main(["dialect", "explain", str(tmp_path / "bad")]) == 1
    assert "line 1" in capsys.readouterr().err


def test_escapes_of_a_recording_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_text(json.dumps({"dir": "c2a", "ts": 1, "msg": {"id": 1, "method": "\x1b[2J"}}) + "\n")
    main(["dialect", "explain", str(path)])
    assert "\x1b" not in capsys.readouterr().out


def test_every_dialect_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialect", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(DIALECTS)
    assert main(["dialect", "list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["dialects"]] == list(DIALECTS)
