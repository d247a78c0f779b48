"""A frame as a translator sees it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from dragoman.dialect.message import (
    Message,
    answer,
    as_list,
    as_object,
    as_text,
    decode,
    encode,
    notification,
    refusal,
    rename_members,
    request,
    update_of,
    with_params,
)
from tests.every import every


@every(
    ("message", "kind"),
    [
        (request(1, "session/new", {}), "request"),
        (request(None, "session/new"), "request"),
        (notification("session/cancel", {}), "notification"),
        (answer("x", None), "answer"),
        (refusal(1, -32603, "no", {"why": "not"}), "answer"),
    ],
)
def test_a_message_is_one_of_three_and_reads_as_it_was_written(message: Message, kind: str) -> None:
    kinds = {
        "request": message.is_request,
        "notification": message.is_notification,
        "answer": message.is_answer,
    }
    assert [name for name, is_it in kinds.items() if is_it] == [kind]
    frame = encode(message)
    assert frame.endswith(b"\n")
    assert decode(frame) == message


@every(
    "frame",
    [b"", b"{", b"[]", b"1", b"{}", b'{"error":null}', b'{"id":1.5,"method":"x"}', b'{"method":1}', b"\xff"],
)
def test_what_is_no_message_is_none(frame: bytes) -> None:
    assert decode(frame) is None


@pytest.mark.parametrize(
    "frame", [b'{"id":1}', b'{"id":1,"error":null}', b'{"id":1,"result":null,"error":null}']
)
def test_an_answer_without_result_and_error_is_the_answer_null(frame: bytes) -> None:
    assert decode(frame) == Message(id=1, result=None)


def test_deep_nesting_is_no_message_and_no_exception() -> None:
    deep = b'{"method":"x","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert decode(deep) is None


@given(st.binary(max_size=60))
def test_no_bytes_make_it_raise(frame: bytes) -> None:
    assert decode(frame) is None or isinstance(decode(frame), Message)


def test_null_and_absent_are_different() -> None:
    message = decode(b'{"jsonrpc":"2.0","id":null,"result":null}')
    assert message is not None
    assert (message.id, message.result, message.error) == (None, None, UNSET)
    assert json.loads(encode(message)) == {"jsonrpc": "2.0", "id": None, "result": None}


def test_new_params_are_another_message() -> None:
    before = request(1, "session/new", {"cwd": "/a"})
    after = with_params(before, {"cwd": "/b"})
    assert (before.params, after.params) == ({"cwd": "/a"}, {"cwd": "/b"})
    assert (after.id, after.method) == (1, "session/new")


@every("value", [None, True, 1, 1.5, "text", [1], {"a": 1}])
def test_what_is_not_of_a_kind_gives_an_empty_one(value: object) -> None:
    assert as_object(value) == (value if isinstance(value, dict) else {})
    assert as_list(value) == (value if isinstance(value, list) else [])
    assert as_text(value) == (value if isinstance(value, str) else "")
    assert update_of(notification("session/update", {"update": value})) == as_object(value)
    assert update_of(notification("session/update", value)) == {}


def test_renaming_keeps_the_order_and_never_covers_what_is_there() -> None:
    assert list(rename_members({"a": 1, "id": 2, "c": 3}, {"id": "toolCallId"}).items()) == [
        ("a", 1),
        ("toolCallId", 2),
        ("c", 3),
    ]
    assert rename_members({"id": 1, "toolCallId": 2}, {"id": "toolCallId"}) == {"toolCallId": 2}
