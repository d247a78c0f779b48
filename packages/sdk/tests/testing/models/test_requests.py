import base64

import pytest

from dragoman.testing.models.requests import Format, Image, ModelRequest, ToolDefinition, ToolResult, ToolUse
from tests.every import every

PICTURE = b"\x89PNG"
DATA = base64.b64encode(PICTURE).decode()
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}

CHAT = {
    "model": "m",
    "stream": True,
    "tools": [
        {"type": "function", "function": {"name": "read", "description": "Reads", "parameters": SCHEMA}}
    ],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "empty"},
    ],
}

MESSAGES = {
    "model": "m",
    "stream": True,
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "read", "description": "Reads", "input_schema": SCHEMA}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "s"},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "empty"}]},
    ],
}

RESPONSES = {
    "model": "m",
    "stream": True,
    "instructions": "Be brief.",
    "tools": [{"type": "function", "name": "read", "description": "Reads", "parameters": SCHEMA}],
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
            ],
        },
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "empty"},
    ],
}


@pytest.mark.parametrize(
    ("format", "body"), [("chat", CHAT), ("messages", MESSAGES), ("responses", RESPONSES)]
)
def test_every_format_reads_the_same(format: Format, body: object) -> None:
    request = ModelRequest(format, "/", {}, body)
    assert (request.model, request.streams, request.system) == ("m", True, "Be brief.")
    assert request.tools == {"read": ToolDefinition("read", "Reads", SCHEMA)}
    assert request.images == [Image("image/png", PICTURE)]
    messages = request.messages
    assert (messages[0].role, messages[0].text) == ("user", "Look")
    assert {message.role for message in messages[1:-1]} == {"assistant"}
    assert "".join(message.thoughts for message in messages) == "Hm"
    assert [use for message in messages for use in message.calls] == [ToolUse("c1", "read", {"path": "a"})]
    assert messages[-1].role == "tool"
    assert request.results == {"c1": ToolResult("c1", "empty")}
    assert request.text == "empty"


def test_a_tool_that_failed_and_its_picture_are_seen() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "http://localhost/a.png"}}
    result = {"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": [picture]}
    request = ModelRequest("messages", "/", {}, {"messages": [{"role": "user", "content": [result]}]})
    assert request.results["c"].is_error
    assert request.images == [Image(None, url="http://localhost/a.png")]


def test_the_input_of_a_response_may_be_text() -> None:
    assert ModelRequest("responses", "/", {}, {"input": "Hi"}).text == "Hi"


@pytest.mark.parametrize("headers", [{"authorization": "Bearer secret"}, {"x-api-key": "secret"}])
def test_a_key_is_known_but_not_shown(headers: dict[str, str]) -> None:
    request = ModelRequest("chat", "/", headers, CHAT)
    assert request.key == "secret"
    assert "secret" not in repr(request)
    assert "secret" not in repr(request.headers)
    assert repr(request) == "<chat to m: 3 messages, 1 tools, under way, last said 'empty'>"


@every(
    "body", [None, [], {}, {"messages": "x", "tools": 1}, {"messages": [1, {"content": 3}], "tools": [{}, 4]}]
)
def test_nonsense_is_left_out(body: object) -> None:
    request = ModelRequest("chat", "/", {}, body)
    assert (request.tools, request.images, request.text, request.system) == ({}, [], "", "")


def test_a_picture_that_is_no_base64_is_empty() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}
    request = ModelRequest("chat", "/", {}, {"messages": [{"role": "user", "content": [part]}]})
    assert request.images == [Image("image/png", b"")]
