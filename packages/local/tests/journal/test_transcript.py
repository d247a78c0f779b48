"""A stream becomes text and comes back byte for byte; others' recordings are read too."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import BadTranscript, NoSuchStream
from dragoman_local.contracts.journals import prompt_entry
from dragoman_local.journal import Entry, MemoryJournal, StreamInfo
from dragoman_local.journal.transcript import export, header, line, lines, load, read_header, read_transcript
from tests.every import every
from tests.journal.streams import replayed

ENTRIES = st.builds(
    Entry,
    st.sampled_from(["to_agent", "to_client", "note"]),
    st.binary(max_size=60) | st.text(max_size=30).map(str.encode) | st.just(b' {"a": 1.0 } '),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(st.lists(ENTRIES, max_size=5))
def test_any_entry_survives_writing_and_reading(entries: list[Entry]) -> None:
    lines = [header(StreamInfo(stream="a")), *map(line, entries)]
    assert all(written.count(b"\n") == 1 and written.endswith(b"\n") for written in lines)
    assert list(read_transcript(lines)) == entries


@every(
    ("frame", "key"),
    [(b'{"id":1,  "x":1.50}', "msg"), (b"not json", "raw"), (b"\xff\xfe", "base64"), (b'{"a":1}\r', "raw")],
)
def test_a_frame_is_shown_as_what_it_is(frame: bytes, key: str) -> None:
    written = line(Entry("to_agent", frame, 1.5))
    assert json.loads(written).keys() == {"ts", "dir", key}
    if key == "msg":
        assert frame in written, "a message stands in the transcript byte for byte"


ODD_FRAMES = st.sampled_from(
    [
        *(
            b"1",
            b" 1",
            b"1 2",
            b"[1",
            b"2]",
            b",2]",
            b"{}",
            b"{}\n",
            b'"\xff"',
            b'"\\ud800"',
            b'"\\udc00"',
            b"",
        ),
        *(
            b'"\\ud83d\\ude00"',
            b'"\\u00e9"',
            b'"\\u00zz"',
            b'"\xc3\xa9"',
            b'"\x01"',
            b"\x0c1",
            b"01",
            b"[" * 9999,
        ),
    ]
)


@given(
    st.lists(st.builds(Entry, st.sampled_from(["to_agent", "note"]), ODD_FRAMES, st.sampled_from([1.0, 2.5])))
)
def test_entries_are_written_together_as_each_alone(entries: list[Entry]) -> None:
    assert lines(entries) == b"".join(map(line, entries))


@given(
    st.lists(st.sampled_from(["a", r"\ud83d", r"\ude00", r"\uD8", r"\n", r"\x", r"\\", " ", "é"])).map(
        "".join
    )
)
def test_text_with_escapes_is_called_json_only_if_it_can_be_read(text: str) -> None:
    frame = f'"{text}"'.encode()
    try:
        msgspec.json.decode(frame)
    except msgspec.DecodeError:
        assert b'"msg":' not in line(Entry("note", frame, 1.0))
    else:
        assert b'"msg":' in line(Entry("note", frame, 1.0))


async def test_a_stream_is_exported_and_loaded_with_what_is_known_about_it() -> None:
    async with MemoryJournal() as journal:
        await journal.append("a", [prompt_entry(f"number {n}") for n in range(1_200)])
        await journal.describe("a", agent="echo", title="Many numbers", cwd="/tmp", session="s1")
        text = b"".join([piece async for piece in export(journal, "a")])
        assert await load(journal, "b", text.splitlines(keepends=True)) == 1_200
        before, after = await journal.info("a"), await journal.info("b")
        assert before is not None
        assert after is not None
        assert (after.agent, after.title, after.cwd) == (before.agent, before.title, before.cwd)
        assert await replayed(journal, "a") == await replayed(journal, "b")


async def test_what_is_not_there_cannot_be_exported() -> None:
    async with MemoryJournal() as journal:
        with pytest.raises(NoSuchStream):
            async for _ in export(journal, "a"):
                pass


async def test_a_recording_of_others_is_read_and_described_by_what_it_tells(tmp_path: Path) -> None:
    initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    answer = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "agentInfo": {"name": "theirs"}}}
    lines = [
        {"ts": 1, "dir": "meta", "cmd": ["their-agent"], "cwd": "/x"},
        {"ts": 2.5, "dir": "c2a", "msg": initialize},
        {"ts": 3, "dir": "a2c", "msg": answer},
        {"ts": 4, "dir": "err", "raw": "a line of standard error"},
    ]
    (tmp_path / "t.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines) + "\n")
    async with MemoryJournal() as journal:
        with (tmp_path / "t.ndjson").open("rb") as file:
            assert await load(journal, "a", file) == 4
        stored = await replayed(journal, "a")
        assert [one.direction for one in stored] == ["note", "to_agent", "to_client", "note"]
        assert [one.time for one in stored] == [1.0, 2.5, 3.0, 4.0]
        assert json.loads(stored[0].frame) == {"dir": "meta", "cmd": ["their-agent"], "cwd": "/x"}
        assert json.loads(stored[1].frame) == initialize
        assert stored[3].frame == b"a line of standard error"
        assert (await journal.info("a")).agent == "theirs"  # type: ignore[union-attr]


@every(
    ("text", "why"),
    [
        (b"not json\n", "no JSON object"),
        (b"[1]\n", "no JSON object"),
        (b'{"ts":1,"msg":{}}\n', "`dir` is missing"),
        (b'{"ts":1,"dir":"up","msg":{}}\n', "unknown `dir`"),
        (b'{"dir":"note","msg":{}}\n', "`ts` is missing"),
        (b'{"ts":"x","dir":"note","msg":{}}\n', "`ts` is not a number"),
        (b'{"ts":1,"dir":"note","base64":"?"}\n', "`base64` is none"),
        (b'{"transcript":1}\n', "header is not the first line"),
    ],
)
def test_a_line_that_is_none_is_named(text: bytes, why: str) -> None:
    good = line(Entry("note", b"{}", 1.0))
    with pytest.raises(BadTranscript, match=why) as mistake:
        list(read_transcript([good, text, good]))
    assert mistake.value.line == 2


def test_a_transcript_of_another_version_is_refused() -> None:
    with pytest.raises(BadTranscript, match="another version"):
        list(read_transcript([b'{"transcript":2}\n']))


def test_a_last_line_that_was_cut_off_ends_the_transcript() -> None:
    whole = line(Entry("note", b"{}", 1.0))
    assert len(list(read_transcript([whole, whole[:-5]]))) == 1


def test_a_header_is_told_from_other_lines() -> None:
    info = StreamInfo(stream="a", agent="echo", title="T", last=3)
    assert read_header(header(info)) == info
    for other in (b"{}", b"[]", b"nonsense", b'{"transcript":1,"stream":5}'):
        assert read_header(other) is None
