"""Files that hold recordings: ours, other recorders', and plain frames."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import BadTranscript
from dragoman_app.cli.recordings import read_entries, read_recording, write_recording
from dragoman_check.recording import Frame, Recording, Stretch


def test_an_examination_is_read_back_as_it_was(tmp_path: Path) -> None:
    recording = Recording(
        frames=[
            Frame(1, "to_agent", 1.5, b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'),
            Frame(2, "to_client", 2.0, b"not json"),
        ],
        marks=[Stretch("broken json", 0, 2)],
        facts={"exit": 0, "files": ["a"]},
        stderr=b"first\nsecond",
    )
    write_recording(tmp_path / "r.ndjson", recording, title="an agent")
    assert read_recording(tmp_path / "r.ndjson") == recording
    with pytest.raises(FileExistsError):
        write_recording(tmp_path / "r.ndjson", recording, title="another")


def test_plain_frames_get_their_directions_from_their_methods(tmp_path: Path) -> None:
    (tmp_path / "plain.ndjson").write_text(
        '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}\n'
        '{"jsonrpc":"2.0","method":"session/update","params":{}}\n'
        '{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{}}\n'
        '{"jsonrpc":"2.0","id":1,"result":{"content":""}}\n'
        '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}\n'
        '{"jsonrpc":"2.0","method":"session/cancel","params":{}}\n'
    )
    ways = [entry.direction for entry in read_entries(tmp_path / "plain.ndjson")]
    assert ways == ["to_agent", "to_client", "to_client", "to_agent", "to_client", "to_agent"]


def test_recordings_of_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "other.ndjson").write_text(
        '{"ts": 1.0, "dir": "meta", "event": "exit", "status": 3}\n'
        '{"ts": 1.5, "dir": "c2a", "msg": {"id": 1, "method": "initialize"}}\n'
    )
    recording = read_recording(tmp_path / "other.ndjson")
    assert [frame.method for frame in recording.frames] == ["initialize"]
    assert recording.facts == {"exit": 3}


def test_what_is_no_recording_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\nworld\n")
    with pytest.raises(BadTranscript):
        read_entries(tmp_path / "text")
