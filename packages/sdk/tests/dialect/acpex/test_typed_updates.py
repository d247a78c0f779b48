"""Updates as the schemas of ACPex write them, both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.originals import drop_original
from tests.dialect.acpex.stage import BOTH, Frame, Stage, chunk, text
from tests.dialect.official import refused
from tests.every import every

CALL: Frame = {
    "type": "tool_call",
    "sessionUpdate": "u-4",
    "toolCallId": "t-1",
    "title": "Look into the nest",
    "status": "running",
    "kind": "fs_read",
    "content": [text("looking")],
    "rawInput": {"path": "/nest"},
    "locations": [{"file": "/nest", "line": 2}],
}
TYPED: list[tuple[Frame, Frame]] = [
    ({"type": "agent_message_chunk", "sessionUpdate": "u-1", "content": text("hi")}, chunk("hi")),
    (
        {"type": "agent_thought_chunk", "sessionUpdate": "u-2", "content": text("hm")},
        chunk("hm", "agent_thought_chunk"),
    ),
    (
        {"type": "user_message_chunk", "sessionUpdate": "u-3", "content": text("me")},
        chunk("me", "user_message_chunk"),
    ),
    (
        CALL,
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t-1",
            "title": "Look into the nest",
            "status": "in_progress",
            "kind": "read",
            "content": [{"type": "content", "content": text("looking")}],
            "rawInput": {"path": "/nest"},
            "locations": [{"path": "/nest", "line": 2}],
        },
    ),
    (
        {"type": "tool_call_update", "sessionUpdate": "u-5", "toolCallId": "t-1", "status": "completed"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t-1", "status": "completed"},
    ),
    (
        {
            "type": "plan",
            "sessionUpdate": "u-6",
            "entries": [{"id": "a", "description": "Look", "status": "in_progress"}],
        },
        {
            "sessionUpdate": "plan",
            "entries": [{"content": "Look", "priority": "medium", "status": "in_progress"}],
        },
    ),
    (
        {
            "type": "available_commands_update",
            "sessionUpdate": "u-7",
            "availableCommands": [{"id": "c", "name": "hoot", "description": "Hoots"}, {"id": "nameless"}],
        },
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "hoot", "description": "Hoots"}],
        },
    ),
    (
        {"type": "current_mode_update", "sessionUpdate": "u-8", "currentModeId": "night"},
        {"sessionUpdate": "current_mode_update", "currentModeId": "night"},
    ),
]


@every("dialect", BOTH)
@every(("said", "v1"), TYPED)
def test_a_typed_update_is_read(dialect: str, said: Frame, v1: Frame) -> None:
    (found,) = Stage("agent", dialect).updated(said)
    assert drop_original(found) == v1


@every(("said", "v1"), TYPED)
def test_a_typed_update_comes_back_with_its_id(said: Frame, v1: Frame) -> None:
    (read,) = Stage("agent", "acpex-wire").updated(said)
    assert Stage("client", "acpex-wire").updated(read) == [said]


def test_every_typed_update_is_taken_by_the_official_models(tmp_path: Path) -> None:
    agent = Stage("agent", "acpex-wire")
    found = [read for said, _ in TYPED for read in agent.updated(said)]
    frames = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": read}}
        for read in found
    ]
    assert len(frames) == 8
    assert refused([("to_client", frame) for frame in frames], tmp_path, typescript=False) == []


def test_a_client_of_the_code_gets_a_type_and_ids_that_differ() -> None:
    client = Stage("client", "acpex-wire")
    first, second = (client.updated(chunk(words))[0] for words in ("a", "b"))
    assert first == {"type": "agent_message_chunk", "sessionUpdate": "update-1", "content": text("a")}
    assert second["sessionUpdate"] == "update-2"


def test_a_tool_call_of_v1_is_said_as_the_schemas_show() -> None:
    client = Stage("client", "acpex-wire")
    diff = {"type": "diff", "path": "/a", "newText": "x"}
    (said,) = client.updated(
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t-1",
            "status": "in_progress",
            "kind": None,
            "content": [{"type": "content", "content": text("half")}, diff],
        }
    )
    assert said == {
        "type": "tool_call_update",
        "sessionUpdate": "update-1",
        "toolCallId": "t-1",
        "status": "running",
        "content": [text("half"), diff],
    }
    assert client.lost == []


def test_a_plan_of_v1_keeps_everything() -> None:
    client = Stage("client", "acpex-wire")
    plan = {
        "sessionUpdate": "plan",
        "entries": [{"content": "Look", "priority": "high", "status": "completed"}],
    }
    (said,) = client.updated(plan)
    assert said["entries"] == [
        {"id": "step-1", "description": "Look", "priority": "high", "status": "completed"}
    ]
    (again,) = Stage("agent", "acpex-wire").updated(said)
    assert drop_original(again) == plan
    assert client.lost == []


def test_words_of_its_own_become_the_nearest() -> None:
    agent = Stage("agent", "acpex-wire")
    (read,) = agent.updated({**CALL, "kind": "hoot", "status": "dreaming", "title": None})
    assert drop_original(read)["kind"] == "other"
    assert "status" not in read
    assert read["title"] == "Tool call"
    assert agent.repaired == ["a tool call without a name", "a tool kind or status of its own"]


def test_a_failed_step_is_not_given_as_done() -> None:
    agent = Stage("agent", "acpex-wire")
    entries = [{"id": "a", "description": "Look", "status": "failed"}, {"id": "b"}]
    (plan,) = agent.updated({"type": "plan", "sessionUpdate": "u", "entries": entries})
    assert [entry["status"] for entry in plan["entries"]] == ["pending"]
    assert agent.lost == ["a failed plan step", "a plan step without text"]


@pytest.mark.parametrize(
    "hostile",
    [
        {
            "content": [1, {"type": "diff"}, {"type": "terminal", "terminalId": 3}],
            "locations": [{}, 5, {"path": 1}],
        },
        {"content": "x", "locations": {}, "status": [], "kind": {}, "title": 4},
    ],
)
def test_what_a_call_holds_in_the_wrong_shape_is_left_out(hostile: dict[str, Any], tmp_path: Path) -> None:
    (read,) = Stage("agent", "acpex-wire").updated(
        {"type": "tool_call", "sessionUpdate": "u", "toolCallId": "t", **hostile}
    )
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": read}}
    assert refused([("to_client", frame)], tmp_path, typescript=False) == []
