"""Going through frames in the words of the protocol."""

from __future__ import annotations

from typing import Any

from dragoman_check.conversation import Conversation
from dragoman_check.walks import camel, members, names, objects, protocol_value
from tests.check.conversations import agent, client, make_recording


def test_members_are_found_at_any_depth_but_not_in_what_is_free() -> None:
    value = {"a": [{"b": 1}], "_meta": {"c": 2}, "rawInput": {"d": 3}}
    assert [(one.path, one.name) for one in members(value)] == [
        ("$", "a"),
        ("$", "_meta"),
        ("$", "rawInput"),
        ("$.a[]", "b"),
    ]
    assert [path for path, _ in objects(value)] == ["$", "$.a[]"]


def test_any_depth_is_gone_through() -> None:
    value: Any = {"last": 1}
    for _ in range(900):
        value = [value]
    assert [one.name for one in members(value)] == ["last"]


def test_only_what_the_protocol_defines_has_words() -> None:
    conversation = Conversation(
        make_recording(
            client("session/list", {"cwd": "/w"}, id=1),
            agent(id=1, result={"sessions": []}),
            client("_mine/do", {"a": 1}, id=2),
            agent(id=2, result={"b": 1}),
            agent("mcp/message", {"a": 1}, id=3),
        )
    )
    assert [protocol_value(frame, conversation) for frame in conversation.frames] == [
        {"cwd": "/w"},
        {"sessions": []},
        None,
        None,
        None,
    ]


def test_names_are_those_of_the_schema() -> None:
    assert {"sessionId", "toolCallId", "agentCapabilities", "_meta"} <= names()
    assert camel("tool_call_id") == "toolCallId"
