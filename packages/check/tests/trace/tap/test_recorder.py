"""A recording: lines however they arrived, files that turn over, and a full disk that stops nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dragoman_check.trace.tap.recorder import TapRecorder
from dragoman_check.trace.tap.secrets import SecretFilter
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.transcript import read_header, read_transcript


def recorder(path: Path, *, full: int = 1_000_000, keep: int = 3, hides: bool = False) -> TapRecorder:
    ticks = count(1)
    secrets = SecretFilter({}) if hides else None
    return TapRecorder(
        path, name="an agent", secrets=secrets, full=full, keep=keep, clock=lambda: float(next(ticks))
    )


def read(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        yield from read_transcript(file)


@given(
    st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and line.strip()), max_size=8),
    st.data(),
)
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    import tempfile

    stream = b"".join(line + b"\n" for line in lines)
    with tempfile.TemporaryDirectory() as folder:
        one = recorder(Path(folder) / "t.ndjson", hides=True)
        while stream:
            cut = data.draw(st.integers(1, len(stream)))
            one.record("to_agent", stream[:cut])
            stream = stream[cut:]
        one.close()
        assert [entry.frame for entry in read(one.path)] == [line.rstrip(b"\r") for line in lines]


def test_a_full_file_is_followed_by_the_next_and_only_the_last_are_kept(tmp_path: Path) -> None:
    one = recorder(tmp_path / "t.ndjson", full=1000, keep=2)
    for number in range(60):
        one.record("to_client", b'{"number":%d}\n' % number)
    one.close()
    files = sorted(tmp_path.iterdir(), key=lambda path: int(path.suffixes[0].strip(".")))
    assert len(files) == 2
    assert files[-1] == one.path
    for path in files:
        first = path.read_bytes().splitlines(keepends=True)[0]
        found = read_header(first)
        assert found is not None
        assert found.title.startswith("an agent, part")
    numbers = [json.loads(entry.frame)["number"] for path in files for entry in read(path)]
    assert numbers == list(range(numbers[0], 60))


def test_a_last_line_without_a_newline_is_recorded_when_its_side_ends(tmp_path: Path) -> None:
    one = recorder(tmp_path / "t.ndjson")
    one.record("to_agent", b'{"a":1}\n{"b"')
    one.on_end("to_agent")
    one.record("to_client", b"x\n")
    one.record_stderr(b"warning")
    one.close()
    assert [(entry.direction, entry.frame) for entry in read(one.path)] == [
        ("to_agent", b'{"a":1}'),
        ("to_agent", b'{"b"'),
        ("to_client", b"x"),
        ("note", b'{"event":"stderr","text":"warning"}'),
    ]


def test_a_disk_that_takes_nothing_stops_nothing(tmp_path: Path) -> None:
    one = recorder(tmp_path / "t.ndjson")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, one.descriptor)
    os.close(full)
    one.record("to_agent", b"{}\n")
    one.close()
    assert one.unwritten > 0


def test_a_letter_that_was_cut_in_two_frames_leaves_a_text_that_everybody_can_read(tmp_path: Path) -> None:
    def frame(text: bytes) -> bytes:
        update = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%b"}}' % text
        return b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%b}}' % update

    frames = [frame(text) for text in (b"first ", b"caf\xc3", b"\xa9 ", "é ".encode())]
    one = recorder(tmp_path / "t.ndjson", hides=True)
    for _ in range(2):  # the second time, it is known how the frames look
        one.record("to_client", b"".join(text + b"\n" for text in frames))
    one.close()
    one.path.read_bytes().decode()
    assert [entry.frame for entry in read(one.path)] == [*frames, *frames]
