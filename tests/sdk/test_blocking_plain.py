"""The short way for usual frames leads where the long way leads, or nowhere."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.blocking.plain import is_lone, plain_answer, plain_request
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


@given(ids, values)
def test_an_answer_of_ours_is_plain(call_id: int, value: Any) -> None:
    encoded = msgspec.json.encode(value)
    plain = plain_answer(response(call_id, encoded), call_id)
    assert plain == (encoded if encoded.isascii() else None)


@given(st.integers(0, 10**15), st.sampled_from(["fs/read_text_file", "terminal/create"]), values)
def test_a_request_of_ours_is_plain(number: int, method: str, value: Any) -> None:
    encoded = msgspec.json.encode(value)
    plain = plain_request(request(number, method, encoded))
    assert plain == ((number, method, encoded) if encoded.isascii() else None)


@given(ids, values, endings)
@example(5, {"content": "x"}, b',"error":{"code":1,"message":""}}\n')
def test_a_plain_answer_is_the_answer(call_id: int, value: Any, ending: bytes) -> None:
    frame = response(call_id, msgspec.json.encode(value))[:-2] + ending
    plain = plain_answer(frame, call_id)
    if plain is not None and rest_is_json(plain):
        envelope = decode(frame[:-1])
        assert isinstance(envelope, Response)
        assert (envelope.id, bytes(envelope.result)) == (call_id, plain.strip())


@given(ids, methods, values, endings)
def test_a_plain_request_is_the_request(number: int, method: str, value: Any, ending: bytes) -> None:
    encoded = msgspec.json.encode(value)
    frame = (
        b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b' % (number, method.encode(), encoded) + ending
    )
    plain = plain_request(frame)
    if plain is not None and rest_is_json(plain[2]):
        envelope = decode(frame[:-1])
        assert isinstance(envelope, Request)
        assert (envelope.id, envelope.method) == plain[:2]
        assert bytes(envelope.params or b"") == plain[2].strip()


@given(ids, ids, values)
def test_the_answer_to_another_call_is_not_ours(call_id: int, other: int, value: Any) -> None:
    frame = response(other, msgspec.json.encode(value))
    assert plain_answer(frame, call_id) is None or call_id == other


@given(st.binary(), ids)
def test_any_bytes_may_be_looked_at(block: bytes, call_id: int) -> None:
    assert plain_answer(block, call_id) is None
    assert plain_request(block) is None


def test_two_frames_are_not_lone_and_neither_is_a_notification() -> None:
    one = response(1, b"{}")
    assert is_lone(one)
    assert not is_lone(one + one)
    assert not is_lone(b'{"jsonrpc":"2.0","method":"session/cancel"}\n')
