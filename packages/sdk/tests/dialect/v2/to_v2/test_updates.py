"""Updates of v1 in v2 that need no memory."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.v2.to_v2.updates import time, update
from dragoman.schema.v2 import SessionUpdate
from tests.dialect.v2.to_v2.judge import is_v2, make_writer
from tests.every import every


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            {
                "sessionUpdate": "plan",
                "entries": [
                    {"content": "a", "priority": "high", "status": "completed"},
                    {"content": "b", "priority": None},
                    {"priority": "low"},
                ],
                "_meta": {"k": 1},
            },
            {
                "sessionUpdate": "plan_update",
                "plan": {
                    "type": "items",
                    "planId": "main",
                    "entries": [
                        {"content": "a", "priority": "high", "status": "completed"},
                        {"content": "b", "priority": "medium", "status": "pending"},
                    ],
                },
                "_meta": {"k": 1},
            },
        ),
        (
            {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [
                    {"name": "plan", "description": "Plan", "input": {"hint": "what"}},
                    {"name": "plan", "description": "Again"},
                    {"name": "two words", "description": "x"},
                    {"name": "go", "description": "Go", "input": None},
                    {"description": "nameless"},
                    3,
                ],
            },
            {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [
                    {
                        "type": "command",
                        "name": "plan",
                        "description": "Plan",
                        "input": {"type": "text", "hint": "what"},
                    },
                    {"type": "command", "name": "go", "description": "Go"},
                ],
            },
        ),
        (
            {
                "sessionUpdate": "session_info_update",
                "title": None,
                "updatedAt": "yesterday",
                "_meta": {"k": 1},
            },
            {"sessionUpdate": "session_info_update", "_meta": {"k": 1}},
        ),
        (
            {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": None},
            {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        ),
        (
            {
                "sessionUpdate": "usage_update",
                "used": 1,
                "size": 2,
                "cost": {"amount": 1.5, "currency": "EUR"},
            },
            {
                "sessionUpdate": "usage_update",
                "used": 1,
                "size": 2,
                "cost": {"amount": 1.5, "currency": "EUR"},
            },
        ),
        (
            {"sessionUpdate": "notice", "severity": "warning", "title": "Careful", "description": None},
            {"sessionUpdate": "notice", "severity": "warning", "title": "Careful"},
        ),
        (
            {
                "sessionUpdate": "compaction_update",
                "compactionId": "c",
                "status": "completed",
                "summary": [{"type": "text", "text": "short"}, 3],
            },
            {
                "sessionUpdate": "compaction_update",
                "compactionId": "c",
                "status": "completed",
                "summary": [{"type": "text", "text": "short"}],
            },
        ),
        (
            {
                "sessionUpdate": "compaction_summary_chunk",
                "compactionId": "c",
                "content": {"type": "text", "text": "s"},
            },
            {
                "sessionUpdate": "compaction_summary_chunk",
                "compactionId": "c",
                "content": {"type": "text", "text": "s"},
            },
        ),
        ({"sessionUpdate": "_weather", "sunny": True}, {"sessionUpdate": "_weather", "sunny": True}),
    ],
    ids=lambda value: value["sessionUpdate"],
)
def test_an_update_is_told_in_v2(given: dict[str, Any], made: dict[str, Any]) -> None:
    assert update(given, make_writer()[0]) == made
    assert is_v2(made, SessionUpdate)


@every(
    "given",
    [
        {"sessionUpdate": "usage_update", "used": -1, "size": 2},
        {"sessionUpdate": "usage_update"},
        {"sessionUpdate": "notice", "severity": "info", "title": ""},
        {"sessionUpdate": "compaction_update", "status": "completed"},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": None},
    ],
)
def test_an_update_that_lacks_what_it_is_about_is_left_out(given: dict[str, Any]) -> None:
    writer, noted = make_writer()
    assert update(given, writer) is None
    assert "a value that breaks v1's own rules" in noted


@every(
    ("given", "made", "remark"),
    [
        ("2026-02-28T10:11:12Z", "2026-02-28T10:11:12Z", None),
        ("2024-02-29T10:11:12.123456+02:00", "2024-02-29T10:11:12.123456+02:00", None),
        ("2026-02-28 10:11:12", "2026-02-28T10:11:12+00:00", "a time without a zone"),
        ("2026-02-28 10:11:12+02:00", "2026-02-28T08:11:12+00:00", None),
        ("2026-02-30T10:11:12Z", None, "a time that nobody can read"),
        ("soon", None, "a time that nobody can read"),
        (1700000000, None, "a time that nobody can read"),
    ],
)
def test_times_are_told_as_rfc_3339(given: Any, made: str | None, remark: str | None) -> None:
    writer, noted = make_writer()
    assert time(given, writer) == made
    assert noted == ({remark} if remark else set())
