"""Updates in the overview's form, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.acpex.stage import BOTH, Stage, chunk, text
from tests.dialect.edges import bare
from tests.every import every


@every("dialect", BOTH)
@every(
    ("said", "v1"),
    [
        ({"kind": "message", "content": "hi"}, chunk("hi")),
        ({"kind": "thought", "content": "hm"}, chunk("hm", "agent_thought_chunk")),
        ({"type": "thought", "content": "hm"}, chunk("hm", "agent_thought_chunk")),
        ({"kind": "agent_message_chunk", "content": text("hi")}, chunk("hi")),
        (
            {"kind": "agent_message_chunk", "content": {"role": "user", "content": [text("me")]}},
            chunk("me", "user_message_chunk"),
        ),
        (
            {"kind": "user_message_chunk", "content": {"role": "user", "content": [{"text": "me"}]}},
            chunk("me", "user_message_chunk"),
        ),
        (
            {"kind": "current_mode_update", "content": {"currentModeId": "deep"}},
            {"sessionUpdate": "current_mode_update", "currentModeId": "deep"},
        ),
        (chunk("v1 itself"), chunk("v1 itself")),
        (
            {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "read"},
            {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "read"},
        ),
    ],
)
def test_an_update_is_read_whatever_form_it_has(dialect: str, said: Any, v1: Any) -> None:
    (found,) = Stage("agent", dialect).updated(said)
    assert bare(found) == v1


def test_a_message_of_several_blocks_is_one_chunk_each() -> None:
    blocks = [text("a"), {"type": "resource_link", "uri": "file:///b"}, text("c")]
    found = Stage("agent").updated(
        {"kind": "agent_message_chunk", "content": {"role": "assistant", "content": blocks}}
    )
    assert [update["content"].get("text") for update in found] == ["a", None, "c"]
    heard = [said for update in found for said in Stage("client").updated(update)]
    assert [said["content"]["content"] for said in heard] == [[block] for block in blocks]


@every(
    "said",
    [
        {},
        {"kind": "feathers", "content": {}},
        {"kind": "agent_message_chunk"},
        {"kind": "agent_message_chunk", "content": {"role": "assistant", "content": []}},
        {"kind": "tool_call", "content": {"function": {"name": "no id"}}},
        {"kind": "current_mode_update", "content": {"currentModeId": 7}},
        {"kind": ["message"], "content": "x"},
        {"type": "feathers", "sessionUpdate": "u-1"},
    ],
)
def test_an_update_that_v1_cannot_say_is_left_out_and_named(said: Any) -> None:
    agent = Stage("agent")
    assert agent.updated(said) == []
    assert "an update of no known kind" in agent.lost


@pytest.mark.parametrize(
    ("v1", "said"),
    [
        (
            chunk("me", "user_message_chunk"),
            {"kind": "user_message_chunk", "content": {"role": "user", "content": [text("me")]}},
        ),
        (
            {"sessionUpdate": "available_commands_update", "availableCommands": []},
            {"kind": "available_commands_update", "content": {"availableCommands": []}},
        ),
        (
            {**chunk("hi"), "_meta": {"theirs": 1}},
            {
                "kind": "agent_message_chunk",
                "content": {"role": "assistant", "content": [text("hi")]},
                "_meta": {"theirs": 1},
            },
        ),
    ],
)
def test_a_v1_update_is_said_with_a_kind(v1: Any, said: Any) -> None:
    assert Stage("client").updated(v1) == [said]


@every(
    ("v1", "phrase"),
    [
        ({**chunk("x"), "messageId": "m-1"}, "a message's id"),
        (
            {
                "sessionUpdate": "agent_thought_chunk",
                "content": {"type": "image", "mimeType": "a/b", "data": ""},
            },
            "a thought that is not text",
        ),
        (
            {"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "high", "status": "pending"}]},
            "priority and status of plan entries",
        ),
        (
            {
                "sessionUpdate": "plan",
                "entries": [{"content": "a", "priority": "medium", "status": "completed"}],
            },
            "priority and status of plan entries",
        ),
    ],
)
def test_what_the_overview_cannot_say_is_named(v1: Any, phrase: str) -> None:
    client = Stage("client")
    client.updated(v1)
    assert client.lost == [phrase]


def test_steps_without_text_are_left_out_of_a_plan() -> None:
    agent = Stage("agent")
    (plan,) = agent.updated({"kind": "plan", "content": {"steps": ["a", 7, {"content": "b"}]}})
    assert [entry["content"] for entry in plan["entries"]] == ["a", "b"]
    assert agent.lost == ["a plan step without text"]


def test_an_update_that_changed_in_between_is_not_taken_from_its_original() -> None:
    (read,) = Stage("agent").updated({"kind": "message", "content": "hi"})
    assert Stage("client").updated(read) == [{"kind": "message", "content": "hi"}]
    (changed,) = Stage("client").updated({**read, "content": text("ho")})
    assert changed["content"] == {"role": "assistant", "content": [text("ho")]}
