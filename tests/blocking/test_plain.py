"""The short way for usual frames leads where the long way leads, or nowhere."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.blocking.plain import is_lone, plain_answers, plain_request
from dragoman.wire import Request, Response, decode, request, response

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
methods = st.sampled_from(["fs/read_text_file", "session/prompt", "_ext/method", "UPPER", "a\\u0062"])
ids = st.integers(0, 10**18)

# What can stand at the end of a frame, to make of one message another one.
endings = st.sampled_from(
    [
        b"}\n",
        b" }\n",
        b',"extra":1}\n',
        b',"id":7}\n',
        b',"params":{}}\n',
        b',"result":1}\n',
        b"}}\n",
        b"\n",
        b"}",
        b"",
    ]
)


def rest_is_json(text: bytes) -> bool:
    """What whoever takes the short way has to find out."""
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def read_answer(frame: bytes) -> tuple[int, Any] | None:
    """What the short way makes of it."""
    try:
        answer = plain_answers[Any](frame)
    except (ValueError, TypeError, RecursionError):
        return None
    return answer.id, answer.result


@given(ids, values)
def test_an_answer_of_ours_is_plain(call_id: int, value: Any) -> None:
    assert read_answer(response(call_id, msgspec.json.encode(value))) == (call_id, value)


@given(st.integers(0, 10**15), st.sampled_from(["fs/read_text_file", "terminal/create"]), values)
def test_a_request_of_ours_is_plain(number: int, method: str, value: Any) -> None:
    encoded = msgspec.json.encode(value)
    found = plain_request(request(number, method, encoded))
    assert found is not None
    assert found.groups() == (str(number).encode(), method.encode(), encoded)


@given(ids, values, endings)
@example(5, {"content": "x"}, b',"error":{"code":1,"message":""}}\n')
def test_a_plain_answer_is_the_answer(call_id: int, value: Any, ending: bytes) -> None:
    frame = response(call_id, msgspec.json.encode(value))[:-2] + ending
    plain = read_answer(frame)
    if plain is not None:
        envelope = decode(frame)
        assert isinstance(envelope, Response)
        assert (envelope.id, msgspec.json.decode(envelope.result)) == plain


@given(ids, methods, values, endings)
def test_a_plain_request_is_the_request(number: int, method: str, value: Any, ending: bytes) -> None:
    encoded = msgspec.json.encode(value)
    frame = (
        b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b' % (number, method.encode(), encoded) + ending
    )
    plain = plain_request(frame)
    if plain is not None and rest_is_json(plain[3]):
        envelope = decode(frame[:-1])
        assert isinstance(envelope, Request)
        assert (str(envelope.id).encode(), envelope.method.encode()) == plain.groups()[:2]
        assert bytes(envelope.params or b"") == plain[3].strip()


@given(st.binary())
def test_any_bytes_may_be_looked_at(block: bytes) -> None:
    assert read_answer(block) is None
    assert plain_request(block) is None


def test_two_lines_are_no_plain_request() -> None:
    one = request(1, "fs/read_text_file", b"{}")
    assert plain_request(one)
    assert plain_request(one + one) is None
    assert plain_request(one.replace(b"{}", b"{\n}")) is None


def test_two_frames_are_not_lone_and_neither_is_a_notification() -> None:
    one = response(1, b"{}")
    assert is_lone(one)
    assert not is_lone(one + one)
    assert not is_lone(b'{"jsonrpc":"2.0","method":"session/cancel"}\n')
