"""The v1 tool call that a v2 question is about: every kind of subject, alone and with more."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v1.permission import subject
from tests.every import every

CALL = {"toolCallId": "t", "title": "Edit", "rawInput": {"a": 1}}
NOTE = [{"type": "content", "content": {"type": "text", "text": "why"}}]


@every(
    ("params", "expected"),
    [
        ({"subject": {"type": "tool_call", "toolCall": CALL}}, CALL),
        ({"subject": {"type": "tool_call", "toolCall": CALL, "_meta": {"x": 1}}}, CALL),
        (
            {
                "subject": {"type": "tool_call", "toolCall": CALL, "risk": "high"},
                "title": "T",
                "description": "why",
            },
            {**CALL, "rawInput": {"a": 1, "subject": {"risk": "high"}}},
        ),
        (
            {"subject": {"type": "tool_call", "toolCall": {"toolCallId": "t"}, "risk": "high"}},
            {"toolCallId": "t", "rawInput": {"subject": {"risk": "high"}}},
        ),
        (
            {"subject": {"type": "tool_call", "toolCall": {"title": "no id"}}, "title": "T"},
            {"toolCallId": "fresh", "title": "T", "rawInput": {"toolCall": {"title": "no id"}}},
        ),
        (
            {"subject": {"type": "command", "command": "ls", "cwd": "/"}, "title": "T"},
            {
                "toolCallId": "fresh",
                "kind": "execute",
                "title": "ls",
                "rawInput": {"command": "ls", "cwd": "/"},
            },
        ),
        (
            {"subject": {"type": "command", "toolCallId": "c"}, "title": "T", "description": "why"},
            {"toolCallId": "c", "kind": "execute", "title": "T", "rawInput": {}, "content": NOTE},
        ),
        ({"subject": {"type": "mood"}}, {"toolCallId": "fresh", "title": "Permission required"}),
        (
            {"subject": {"type": "mood", "is": "good"}, "title": "T"},
            {"toolCallId": "fresh", "title": "T", "rawInput": {"is": "good"}},
        ),
        (
            {"title": "T", "description": "why"},
            {"toolCallId": "fresh", "title": "T", "content": NOTE},
        ),
        ({"subject": None, "title": 7}, {"toolCallId": "fresh", "title": "Permission required"}),
    ],
)
def test_a_subject_is_a_call_with_all_that_was_said_of_it(params: Any, expected: Any) -> None:
    assert subject(params, "fresh") == expected
