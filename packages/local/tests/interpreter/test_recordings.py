"""Recordings of every form that we know, read as frames with who said each."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.explain import explain
from dragoman.errors import BadTranscript
from dragoman_local.interpreter.recordings import read_recording
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.transcript import line
from tests.every import every
from tests.interop.recordings import ELSEWHERE, FIXTURES

ASKED = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
ANSWERED = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}


def read(*lines: Any) -> list[tuple[Any, Any]]:
    texts = [text if isinstance(text, bytes) else json.dumps(text).encode() + b"\n" for text in lines]
    return [(by, json.loads(frame)) for by, frame in read_recording(texts)]


BOTH = [("client", ASKED), ("agent", ANSWERED)]


def test_our_transcripts_are_read() -> None:
    entries = [
        Entry(direction="to_agent", frame=json.dumps(ASKED).encode(), time=1.0),
        Entry(direction="note", frame=b"a remark", time=1.5),
        Entry(direction="to_client", frame=json.dumps(ANSWERED).encode(), time=2.0),
    ]
    assert read({"transcript": 1, "stream": "x"}, *map(line, entries)) == BOTH


def test_recordings_of_others_are_read() -> None:
    first = {"ts": 1, "dir": "meta", "cmd": ["some-agent"]}
    asked, answered = {"ts": 2, "dir": "c2a", "msg": ASKED}, {"ts": 3, "dir": "a2c", "msg": ANSWERED}
    assert read(first, asked, {"ts": 3, "dir": "err", "raw": "hm"}, answered) == BOTH


def test_lines_with_an_address_are_read() -> None:
    assert read({"about": "x"}, {"to": "agent", "frame": ASKED}, {"to": "client", "frame": ANSWERED}) == BOTH
    asked = {"direction": "to_agent", "frame": json.dumps(ASKED)}
    assert read(asked, {"direction": "to_client", "frame": ANSWERED}) == BOTH


def test_plain_frames_are_read_without_a_speaker() -> None:
    assert read(b"\n", ASKED, b"  \n", ANSWERED) == [(None, ASKED), (None, ANSWERED)]
    assert list(read_recording([b"no json\n", b"[1]\n"])) == [(None, b"no json\n"), (None, b"[1]\n")]


def test_nothing_is_nothing() -> None:
    assert read() == []


def test_a_broken_transcript_names_its_line() -> None:
    with pytest.raises(BadTranscript, match="2"):
        read({"dir": "c2a", "ts": 1, "msg": ASKED}, {"dir": "sideways", "ts": 2, "msg": {}}, ASKED)


FILES = [*sorted(FIXTURES.glob("*.ndjson")), *sorted(ELSEWHERE.glob("*/*.ndjson"))]


@every("path", FILES, ids=[path.stem for path in FILES])
def test_recordings_of_real_programs_are_explained(path: Path) -> None:
    with path.open("rb") as file:
        explanation = explain(read_recording(file))
    expected = "v2" if path.parent.name == "agents-v2" else "v1"
    assert explanation.frames > 0
    assert explanation.agent.dialect == expected
    assert explanation.client.dialect == expected
