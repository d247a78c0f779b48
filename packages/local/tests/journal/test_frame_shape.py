"""Frames of one shape: what they share is found, and their texts are texts of strings and nothing else."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.journal.frame_shape import FrameShape, is_utf8, shape_of_both
from tests.every import every

TEXTS = st.text(alphabet='ab"\\:,{}\né文', max_size=8)
RAW_TEXTS = st.text(alphabet='ab"\\:, n\n', max_size=8).map(str.encode)


def frame(text: str) -> bytes:
    return json.dumps({"id": "a:b", "params": {"text": text, "type": "text"}}).encode()


SHAPE = FrameShape(b'{"id": "a:b", "params": {"text": "', b'", "type": "text"}}')


def test_what_two_frames_share_is_what_stands_around_their_texts() -> None:
    written = [
        json.dumps({"a": {"text": text, "b": 1}}, separators=(",", ":")).encode() for text in ("x", "yz")
    ]
    assert shape_of_both(*written) == FrameShape(b'{"a":{"text":"', b'","b":1}}')
    assert shape_of_both(b"", b"") == shape_of_both(b"12", b"13") == FrameShape(b"", b"")


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_texts_are_read_as_they_were_written(texts: list[str]) -> None:
    found = SHAPE.texts([frame(text) for text in texts])
    assert found == [json.dumps(text)[1:-1].encode() for text in texts]


@given(st.lists(RAW_TEXTS, min_size=1, max_size=4))
def test_frames_of_a_shape_are_json_with_one_string_more(texts: list[bytes]) -> None:
    frames = [SHAPE.head + text + SHAPE.tail for text in texts]
    if (found := SHAPE.texts(frames)) is not None:
        assert found == texts
        for text, written in zip(texts, frames, strict=True):
            assert json.loads(written)["params"] == {"text": json.loads(b'"%b"' % text), "type": "text"}


def test_texts_that_end_early_and_late_are_not_taken_for_as_many_others() -> None:
    texts = [b"z\\", b',"q']
    assert len(json.loads(b'["' + b'","'.join(texts) + b'"]')) == len(texts)
    assert SHAPE.texts([SHAPE.head + text + SHAPE.tail for text in texts]) is None


def test_head_and_tail_do_not_overlap() -> None:
    assert SHAPE.texts([SHAPE.head + SHAPE.tail[1:]]) is None
    assert not SHAPE.fits(SHAPE.head + SHAPE.tail[1:])
    assert SHAPE.texts([]) is None
    assert SHAPE.texts([frame("a"), b"{}"]) is None


@every(("text", "expected"), [(b"a", True), ("é".encode(), True), (b"\xff", False)])
def test_utf8_is_known(text: bytes, expected: bool) -> None:
    assert is_utf8(text) is expected
