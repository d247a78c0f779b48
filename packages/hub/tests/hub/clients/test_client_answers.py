"""What becomes of answers between a client and its agent: each kind of method, of field and of failure."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dragoman.errors import DragomanError, LinkClosed
from dragoman_hub.clients.client_answers import (
    answer_of_guest,
    has_capability,
    missing_result,
    why_of_error,
)
from tests.every import every


@every(
    ("method", "result", "said"),
    [
        ("session/request_permission", None, "neither a result nor an error"),
        ("fs/read_text_file", None, "neither a result nor an error"),
        ("fs/write_text_file", b"{}", ""),
        ("terminal/release", b"{}", ""),
        ("_mine/extension", b"null", ""),
        ("session/prompt", b"null", ""),  # no client's to answer
    ],
)
def test_an_answer_without_a_result_is_empty_where_nothing_is_required(
    method: str, result: bytes | None, said: str
) -> None:
    found, error = missing_result(method)
    assert (None if found is None else bytes(found)) == result
    if result is None:
        assert error.code == -32603
        assert method in error.message
        assert said in error.message
    else:
        assert error is None


@every(
    ("said", "heard"),
    [
        ({"a": 1, "_meta": {"theirs": 1}}, {"a": 1, "_meta": {"theirs": 1}}),
        ({"_meta": {"dragoman": {"by": "owner"}}}, {}),
        ({"_meta": {"dragoman": {"by": "owner", "version": 1}}}, {"_meta": {"dragoman": {"version": 1}}}),
        ({"_meta": {"dragoman": {"conflict": True}}}, {"_meta": {"dragoman": {"conflict": True}}}),
        ({"_meta": {"dragoman/told": 1, "dragoman": {"by": 1}}}, {"_meta": {"dragoman/told": 1}}),
    ],
)
def test_a_guest_says_nothing_in_the_name_of_the_hub(said: Any, heard: Any) -> None:
    assert msgspec.json.decode(answer_of_guest(json.dumps(said).encode())) == heard


def test_an_answer_that_cannot_be_read_says_nothing() -> None:
    assert bytes(answer_of_guest(b'{"dragoman')) == b"null"


@every(
    ("capabilities", "expected"),
    [
        ({"fs": {"readTextFile": True}}, True),
        ({"fs": {"readTextFile": 1}}, False),
        ({"fs": {"readTextFile": {}}}, False),
        ({"fs": {}}, False),
        ({"fs": True}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_capability_is_there_if_it_is_true(capabilities: object, expected: bool) -> None:
    assert has_capability(capabilities, ("fs", "readTextFile")) is expected


@every(
    ("error", "why"),
    [
        (TimeoutError("secret"), "the agent did not answer in time"),
        (LinkClosed("it is gone\nfor good"), "it is gone\nfor good"),
        (DragomanError("a reason\nand a secret"), "a reason"),
        (ValueError("x" * 400), "x" * 300),
    ],
)
def test_of_an_internal_error_its_first_line_is_told(error: BaseException, why: str) -> None:
    assert why_of_error(error) == why
