"""The codec's promises: nothing but SchemaError, no values in its text, the same meaning there and back."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import pytest
from hypothesis import example
from hypothesis import given as each
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dragoman.schema import SchemaError, UnknownFields, examine, read, reader, v1, v2, write
from tests.every import every

BLOCK = b'{"type":"text","text":"hi"}'
CHUNK = b'{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":' + BLOCK + b"}}"
SECRET = "sk-very-secret"


def test_a_chunk_is_read_and_written() -> None:
    expected = v1.SessionNotification(
        session_id="s", update=v1.AgentMessageChunk(content=v1.TextContent(text="hi"))
    )
    for raw in (CHUNK, bytearray(CHUNK), memoryview(CHUNK), Raw(CHUNK)):
        assert read(raw, v1.SessionNotification) == expected
        assert reader(v1.SessionNotification)(raw) == expected
    assert write(expected) == CHUNK
    assert examine(CHUNK, v1.SessionNotification) == (expected, [])


def test_absent_null_and_value_are_three_things() -> None:
    for raw, value in ((b"{}", UNSET), (b'{"title":null}', None), (b'{"title":"t"}', "t")):
        message = read(raw, v1.SessionInfoUpdate)
        assert message.title == value
        assert json.loads(write(message)) == {"sessionUpdate": "session_info_update", **json.loads(raw)}


@each(st.binary(max_size=60))
def test_reading_any_bytes_raises_nothing_but_a_schema_error(raw: bytes) -> None:
    with pytest.raises(SchemaError):
        read(raw + b"\x00", v1.SessionNotification)


@each(st.binary(max_size=5), st.integers(0, len(CHUNK)), st.integers(0, 8))
@example(junk=b"\x0b", at=0, cut=0)
def test_spoiled_messages_raise_nothing_but_a_schema_error(junk: bytes, at: int, cut: int) -> None:
    raw = CHUNK[:at] + junk + CHUNK[at + cut :]
    try:
        message = read(raw, v1.SessionNotification)
    except SchemaError:
        return
    assert json.loads(write(message)) == json.loads(raw)


@every(
    "raw",
    [
        b"{",
        b"nul",
        b'{"a":1,}',
        b"\xff",
        b'{"sessionId":"\xff"}',
        b"{} {}",
        b'{"sessionId":NaN}',
        b"'s'",
        b'{"a\x01":1}',
    ],
)
def test_what_is_no_json_is_called_so(raw: bytes) -> None:
    with pytest.raises(SchemaError, match="not a JSON text") as caught:
        read(raw, v1.CloseSessionRequest)
    assert caught.value.not_json


@every("depth", [100_000 if sys.version_info < (3, 14) else 500_000, 1_000_000])
@every("before", [b"", b'{"sessionId":"s","_meta":', b'{"sessionId":"s","new":'])
def test_deep_nesting_is_an_error_and_no_crash(before: bytes, depth: int) -> None:
    after = b"}" if before else b""
    with pytest.raises(SchemaError, match=r"nested too deeply|got array"):
        read(before + b"[" * depth + b"]" * depth + after, v1.CloseSessionRequest)


def chain(error: BaseException | None) -> list[BaseException]:
    """The error and everything that hangs on it, shown or not."""
    return [error, *chain(error.__context__), *chain(error.__cause__)] if error else []


def spoiled_with_secrets() -> list[tuple[bytes, Any]]:
    key = json.dumps(SECRET).encode()
    return [
        (b'{"sessionId":' + key + b"," + key + b":1}", v1.PromptRequest),
        (b'{"sessionId":["' + SECRET.encode() + b'"]}', v1.CloseSessionRequest),
        (b'{"cwd":"/","mcpServers":[{"type":' + key + b',"name":' + key + b"}]}", v1.NewSessionRequest),
        (b'{"outcome":{"outcome":' + key + b"}}", v1.RequestPermissionResponse),
        (
            b'{"type":"boolean","sessionId":"s","configId":"c","value":' + key + b"}",
            v1.SetSessionConfigOptionRequest,
        ),
        (b'{"providerId":"p","apiType":"a","baseUrl":"b","headers":{' + key + b":1}}", v1.SetProviderRequest),
        (b'{"a":' + key + b"", v1.SetProviderRequest),
        (b'{"sessionUpdate":"plan",' + key + b":1}", v1.SessionUpdate),
    ]


@every(("raw", "kind"), spoiled_with_secrets())
def test_neither_the_error_nor_its_traceback_tells_what_was_in_the_message(raw: bytes, kind: Any) -> None:
    for read_it in (lambda: read(raw, kind), lambda: reader(kind)(raw), lambda: examine(raw, kind)):
        with pytest.raises(SchemaError) as caught:
            read_it()
        shown = "".join(traceback.format_exception(caught.value, chain=True))
        assert SECRET not in str(caught.value)
        assert SECRET not in shown
        assert all(SECRET not in repr(vars(hidden) | {"": hidden.args}) for hidden in chain(caught.value))


@every(
    ("raw", "kind", "text"),
    [
        (b"[]", v1.PromptRequest, "$: expected object, got array"),
        (b'"x"', v1.PromptRequest, "$: expected object, got string"),
        (b'{"sessionId":1,"prompt":[]}', v1.PromptRequest, "$.sessionId: expected string, got number"),
        (b'{"sessionId":"s"}', v1.PromptRequest, "$.prompt: is missing"),
        (b'{"sessionId":"s","prompt":{}}', v1.PromptRequest, "$.prompt: expected array, got object"),
        (b'{"sessionId":"s","prompt":[{"type":"text"}]}', v1.PromptRequest, "$.prompt[0].text: is missing"),
        (b'{"sessionId":"s","prompt":[{"text":"t"}]}', v1.PromptRequest, "$.prompt[0].type: is missing"),
        (b'{"sessionId":"s","prompt":[{"type":7}]}', v1.PromptRequest,
         "$.prompt[0].type: expected string, got number"),
        (b'{"sessionId":"s","prompt":[]}', v2.PromptRequest, "$.prompt: is too short"),
        (b'{"protocolVersion":65536}', v1.InitializeRequest, "$.protocolVersion: number out of range"),
        (b'{"sessionUpdate":"notice","severity":"x","title":""}', v1.SessionUpdate, "$.title: is too short"),
        (b'{"requestId":1.5}', v1.CancelRequestNotification, "$.requestId: unexpected number"),
        (b"{}", v1.MessageMcpResponse, "$: needs result or error"),
        (b'{"providerId":"p","apiType":"a","baseUrl":"b","headers":{"k":1}}', v1.SetProviderRequest,
         "$.headers.*: expected string, got number"),
    ],
)  # fmt: skip
def test_an_error_names_the_place_and_the_kind(raw: bytes, kind: Any, text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(raw, kind)
    assert str(caught.value) == text
    assert not caught.value.not_json


@pytest.mark.parametrize("version", [v1, v2])
def test_request_ids_are_numbers_or_strings_and_null_only_in_v1(version: Any) -> None:
    for raw, value in ((b"1", 1), (b'"a"', "a"), (b"-9223372036854775808", -(2**63))):
        assert read(b'{"requestId":' + raw + b"}", version.CancelRequestNotification).request_id == value
    with pytest.raises(SchemaError):
        read(b'{"requestId":9223372036854775808}', version.CancelRequestNotification)
    if version is v1:
        assert read(b'{"requestId":null}', v1.CancelRequestNotification).request_id is None
    else:
        with pytest.raises(SchemaError):
            read(b'{"requestId":null}', v2.CancelRequestNotification)


def test_enumerations_keep_values_that_nobody_knew() -> None:
    raw = b'{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"teleport","status":"floating"}'
    message = read(raw, v1.SessionUpdate)
    assert (message.kind, message.status) == ("teleport", "floating")
    assert json.loads(write(message)) == json.loads(raw)


@pytest.mark.parametrize("raw", [CHUNK, CHUNK[:-1] + b',"new":[1, 2]}'])
def test_what_was_read_is_written_as_it_came(raw: bytes) -> None:
    assert write(read(raw, v1.SessionNotification)) == raw


@pytest.mark.parametrize(
    "message",
    [
        v1.TextContent(text="half \ud83d a pair"),
        v1.TextContent(text="ok", meta={"x": object()}),
        v1.TextContent(text="half \ud83d a pair", unknown_fields=UnknownFields({"a": 1})),
    ],
)
def test_what_cannot_be_written_is_said(message: Any) -> None:
    with pytest.raises(SchemaError):
        write(message)


def test_a_circle_cannot_be_written() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    for fields in (UNSET, UnknownFields({"a": 1})):
        with pytest.raises(SchemaError, match="nested too deeply"):
            write(v1.TextContent(text="t", meta=circle, unknown_fields=fields))
