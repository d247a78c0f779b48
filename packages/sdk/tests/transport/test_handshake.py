"""What passes over a WebSocket, what is answered for the agent, and what ends the connection."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman.transport.handshake import PASSED, Disconnected, Forwarded, Handshake, Rejected
from tests.every import every

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'


def greeted() -> Handshake:
    handshake = Handshake()
    assert handshake.look(INITIALIZE) == PASSED
    return handshake


@every(
    ("first", "code"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"session/new"}', 1002),
        (b'{"jsonrpc":"2.0","method":"session/cancel"}', 1002),
        (b'{"jsonrpc":"2.0","method":"initialize"}', 1002),
        (b'{"jsonrpc":"2.0","id":null,"method":"initialize"}', 1002),
    ],
)
def test_a_bad_beginning_ends_the_connection(first: bytes, code: int) -> None:
    found = Handshake().look(first)
    assert isinstance(found, Disconnected)
    assert found.code == code


@every(
    ("garbage", "code"),
    [(b"x", -32700), (b"[]", -32600), (b"1", -32600), (b'{"id":[],"method":"x"}', -32600)],
)
def test_garbage_is_answered_before_and_after(garbage: bytes, code: int) -> None:
    for handshake in (Handshake(), greeted()):
        found = handshake.look(garbage)
        assert isinstance(found, Rejected)
        answer = json.loads(found.message)
        assert (answer["id"], answer["error"]["code"]) == (None, code)


LONG = b"x" * 1025


@every(
    ("message", "request_id", "code"),
    [
        (b'{"jsonrpc":"2.0","id":"%b","method":"initialize"}' % LONG, None, -32600),
        (b'{"jsonrpc":"2.0","id":"%b","method":"_x"}' % LONG, None, -32600),
        (b'{"jsonrpc":"2.0","id":3,"method":"_x","params":{"sessionId":"%b"}}' % LONG, 3, -32602),
        (
            b'{"jsonrpc":"2.0","id":"%b","method":"_x","params":{"sessionId":"%b"}}' % (LONG, LONG),
            None,
            -32602,
        ),
    ],
)
def test_an_id_that_is_too_long_is_answered(message: bytes, request_id: int | None, code: int) -> None:
    found = greeted().look(message)
    assert isinstance(found, Rejected)
    answer = json.loads(found.message)
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)


def test_a_notification_with_an_id_that_is_too_long_is_dropped() -> None:
    message = b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"%b"}}' % LONG
    assert greeted().look(message) == Rejected()


def test_an_answer_before_anything_was_asked_means_nothing() -> None:
    assert Handshake().look(b'{"jsonrpc":"2.0","id":1,"result":{}}') == Rejected()
    assert greeted().look(b'{"jsonrpc":"2.0","id":1,"result":{}}') == PASSED


def test_initialize_comes_once() -> None:
    again = greeted().look(b'{"jsonrpc":"2.0","id":"a","method":"initialize"}')
    assert isinstance(again, Rejected)
    assert (json.loads(again.message)["id"], json.loads(again.message)["error"]["code"]) == ("a", -32600)


def test_what_only_looks_strange_is_for_the_agent() -> None:
    lone = rb'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"text":"\ud800"}}'
    assert greeted().look(lone) == PASSED
    early = Handshake().look(lone)
    assert isinstance(early, Disconnected | Rejected)


@given(st.binary())
def test_any_bytes_are_looked_at(message: bytes) -> None:
    for handshake in (Handshake(), greeted()):
        assert isinstance(handshake.look(message), Forwarded | Rejected | Disconnected)
