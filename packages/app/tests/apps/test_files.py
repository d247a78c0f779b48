"""Files that commands read and write: what is said when that goes wrong, and who may read what is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman_app.cli import main

TRANSCRIPT = """{"ts":1.0,"dir":"to_agent","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}
{"ts":2.0,"dir":"to_client","msg":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}
"""

READERS = [
    ["view", "FILE"],
    ["replay", "FILE"],
    ["diff", "FILE", "FILE"],
    ["check", "trace", "FILE"],
    ["check", "agent", "--prompts", "FILE", "--", "true"],
    ["check", "trace", "--waivers", "FILE", "RECORDING"],
    ["chaos", "--script", "FILE", "--", "true"],
    ["dialect", "explain", "FILE"],
    ["sessions", "import", "FILE"],
    ["agent", "script", "FILE"],
    ["agents", "import", "zed", "FILE"],
    ["connect", "--token-file", "FILE", "ws://127.0.0.1:1/acp"],
    ["inbox", "--hub", "ws://127.0.0.1:1/acp", "--token-file", "FILE"],
]

WRITERS = [
    ["view", "RECORDING", "-o", "FILE"],
    ["tap", "--record", "FILE", "--", "true"],
    ["translate", "--ledger", "FILE", "--", "true"],
]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("DRAGOMAN_TOKEN", raising=False)


def complaint(command: list[str], file: Path, capfd: pytest.CaptureFixture[str]) -> str:
    recording = file.parent.parent / "recording.ndjson"
    places = {"FILE": str(file), "RECORDING": str(recording)}
    recording.write_text(TRANSCRIPT)
    assert main([places.get(word, word) for word in command]) in (1, 2)
    return capfd.readouterr().err


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert f"cannot read {tmp_path / 'none'}: no such file" in complaint(command, tmp_path / "none", capfd)
    assert f"cannot read {tmp_path}: this is a folder" in complaint(command, tmp_path, capfd)


@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_a_file_that_cannot_be_written_is_named_with_the_reason(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "none" / "file"
    assert f"cannot write {place}: no such folder" in complaint(command, place, capfd)


def test_what_is_made_of_a_recording_is_readable_by_its_owner_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "session.ndjson"
    recording.write_text(TRANSCRIPT)
    before = os.umask(0o022)
    try:
        assert main(["view", str(recording)]) == 0
        main(["check", "trace", "--format", f"html={tmp_path / 'report.html'}", str(recording)])
        assert main(["sessions", "import", str(recording)]) == 0
        stream = capfd.readouterr().out.split()[-1]
        assert main(["sessions", "export", stream, str(tmp_path / "export.ndjson")]) == 0
    finally:
        os.umask(before)
    for name in ("session.html", "report.html", "export.ndjson"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600, name
