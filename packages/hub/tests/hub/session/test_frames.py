"""Whose the lines of a block are: the short way says what the long way says, whatever the bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.wire import MalformedFrame, Notification, decode
from dragoman_hub.session.frames import UPDATE, all_begin, passable, prompt_texts, sessions_of
from tests.hub import mutations
from tests.hub.mutations import strictly
from tests.wire.strategies import frames

UPDATE_OF_A = UPDATE + b'"sessionId":"a","update":{"sessionUpdate":"plan"}}}'

updates = st.builds(
    lambda name, text: UPDATE + b'"sessionId":%b,"update":{"text":%b}}}' % (name, text),
    st.sampled_from([b'"a"', b'"b"', rb'"\u0061"', b'"a","sessionId":"b"', b"7", b"null", '"ö"'.encode()]),
    st.sampled_from(
        [b'"x"', b'"', b"1,2", b"NaN", rb'"\ud800"', rb'"\ud83d\ude00"', b'"\xff"', b'"\r"', b"\r1"]
    ),
)

damaged = st.builds(
    lambda seed, number: list(mutations.lines(number + 1, seed=seed))[number].replace(b"\n", b""),
    st.integers(0, 1000),
    st.integers(0, 3),
)


def long_way(line: bytes) -> str:
    """By the envelope alone."""
    message = decode(line)
    if not isinstance(message, Notification) or passable(line) != line:
        return ""
    params = json.loads(bytes(message.params or b"0"), parse_int=float)  # a number may have any length
    name = params.get("sessionId", "") if isinstance(params, dict) else ""
    return name if isinstance(name, str) else ""


@given(lines=st.lists(updates | frames | damaged, min_size=1, max_size=5))
@example(lines=[UPDATE_OF_A, UPDATE_OF_A[:-1], UPDATE_OF_A])
@example(lines=[UPDATE_OF_A[:60], UPDATE_OF_A[60:]])
@example(lines=[UPDATE_OF_A + b"," + UPDATE_OF_A])
@example(lines=[UPDATE_OF_A + b"\r", b" " + UPDATE_OF_A, b"", UPDATE_OF_A + b" "])
@example(lines=[UPDATE_OF_A[:-1] + rb',"\u0069d":7}', UPDATE_OF_A[:-1] + b',"method":"m"}'])
@example(lines=["größer".encode()[:3], UPDATE_OF_A])
@example(lines=[UPDATE + b'"sessionId":7,"update":{}}}'])
def test_the_short_way_names_the_sessions_that_the_long_way_names(lines: list[bytes]) -> None:
    block = b"".join(line + b"\n" for line in lines)
    names = sessions_of(block, lines)
    assert names == [long_way(line) for line in lines]
    for name, line in zip(names, lines, strict=True):
        assert not name or isinstance(strictly(line), dict)


@given(line=updates | frames | damaged)
def test_what_is_passed_on_is_json_in_utf8_on_one_line_and_means_the_same(line: bytes) -> None:
    if isinstance(decode(line), MalformedFrame):
        return
    passed = passable(line)
    assert strictly(passed) == strictly(line)
    assert b"\r" not in passed
    assert not isinstance(decode(passed), MalformedFrame)
    assert passable(passed) == passed


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        (rb'{"a":"\ud800"}', rb'{"a":"\ufffd"}'),
        (rb'{"a":"\ud83d\ude00 \\ud800"}', rb'{"a":"\ud83d\ude00 \\ud800"}'),
        (b'{"a":\r1}\r', b'{"a": 1}'),
        (b'{"a":1e400}', b'{"a":1e400}'),
        (b'{"a":1,"a":2}', b'{"a":1,"a":2}'),
    ],
)
def test_only_half_pairs_and_carriage_returns_are_changed(line: bytes, passed: bytes) -> None:
    assert passable(line) == passed


@given(lines=st.lists(st.sampled_from([b"ab", b"abc", b"b", b"", b"c"]), min_size=1, max_size=4))
def test_all_begin_with_one_of_the_heads_if_each_does(lines: list[bytes]) -> None:
    assert all_begin(lines, b"ab", b"c") == all(line[:2] == b"ab" or line == b"c" for line in lines)


@given(text=st.text(max_size=40), times=st.integers(0, 9), most=st.integers(1, 12), is_ascii=st.booleans())
@example(text="\U0001f600", times=9, most=3, is_ascii=True)
@example(text="\\", times=9, most=4, is_ascii=True)
def test_of_a_prompt_only_the_beginning_of_each_text_is_read(
    text: str, times: int, most: int, *, is_ascii: bool
) -> None:
    blocks = [{"type": "text", "text": text * times}, {"type": "image"}, {"text": 5}, "none", {"text": "end"}]
    params = json.dumps({"prompt": blocks}, ensure_ascii=is_ascii).encode(errors="surrogatepass")
    found = list(prompt_texts(params, most))
    assert found == [(text * times)[:most], "", "", "", "end"[:most]]


@pytest.mark.parametrize("params", [b"{}", b"[]", b'{"prompt":5}', b'{"prompt":{}}'])
def test_a_prompt_without_blocks_has_no_texts(params: bytes) -> None:
    assert list(prompt_texts(params, 9)) == []
