"""What does not have its method's shape is refused with the place of the fault, and never with a value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.errors import BadAnswer, ErrorAnswer
from dragoman.schema.v1 import NewSessionResponse, PromptRequest
from dragoman.sdk.inbound import read_params, read_result
from tests.every import every

SECRET = "sk-12345"


def test_params_that_were_left_out_are_an_empty_object() -> None:
    with pytest.raises(ErrorAnswer) as refused:
        read_params(None, PromptRequest)
    assert refused.value.code == -32602


@every(
    ("params", "path"),
    [
        ({"sessionId": [SECRET], "prompt": []}, "sessionId"),
        ({"sessionId": "s", "prompt": {SECRET: 1}}, "prompt"),
        ({"sessionId": "s", "prompt": [{"type": "text", "text": [SECRET]}]}, "prompt"),
        ({"prompt": []}, "sessionId"),
        ([SECRET], ""),
        (SECRET, ""),
    ],
)
def test_params_of_the_wrong_shape_are_invalid_and_not_quoted(params: Any, path: str) -> None:
    with pytest.raises(ErrorAnswer) as refused:
        read_params(Raw(json.dumps(params).encode()), PromptRequest)
    assert refused.value.code == -32602
    assert path in refused.value.message
    assert SECRET not in repr(refused.value)
    assert SECRET not in repr(refused.value.__cause__)
    assert refused.value.__context__ is None or refused.value.__suppress_context__


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_with_a_code(raw: bytes) -> None:
    code = 0
    try:
        read_params(Raw(raw), PromptRequest)
    except ErrorAnswer as refused:
        code = refused.code
    assert code in (0, -32602, -32700)


def test_an_answer_of_the_wrong_shape_is_the_peers_mistake_and_not_quoted() -> None:
    with pytest.raises(BadAnswer, match="session/new") as bad:
        read_result(Raw(json.dumps({"sessionId": [SECRET]}).encode()), NewSessionResponse, "session/new")
    assert SECRET not in str(bad.value)
    assert "sessionId" in str(bad.value)
