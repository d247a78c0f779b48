"""Tool calls in the manner of OpenAI's functions, both ways."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.acpex.client import AcpexClient
from dragoman.dialect.originals import drop_original
from tests.dialect.acpex.stage import Frame, Stage, text
from tests.every import every


def call(arguments: Any, **more: Any) -> Frame:
    function = {"name": "peck", "arguments": arguments}
    return {
        "kind": "tool_call",
        "content": {"toolCallId": "t-1", "type": "function", "function": function, **more},
    }


def shown(*blocks: Any) -> list[Frame]:
    return [{"type": "content", "content": block} for block in blocks]


def v1_call(**fields: Any) -> Frame:
    return {"sessionUpdate": "tool_call", "toolCallId": "t-1", "title": "Peck", **fields}


def change(**fields: Any) -> Frame:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t-1", **fields}


def output(words: str) -> Frame:
    return {"kind": "tool_call_update", "content": {"toolCallId": "t-1", "output": words}}


@every(
    ("arguments", "raw"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("[1]", [1]),
        ({"a": 1}, {"a": 1}),
        ("{broken", "{broken"),
        ("", ""),
    ],
)
def test_arguments_are_parsed_where_they_are_json(arguments: Any, raw: Any) -> None:
    agent = Stage("agent")
    (read,) = agent.updated(call(arguments))
    assert read["rawInput"] == raw
    assert ("tool arguments that are no JSON object" in agent.repaired) == (type(raw) is str)


@every("arguments", ['{"a":[1,null]}', "[1]", "{broken", "", '"words"'])
def test_a_call_comes_back_with_the_same_arguments(arguments: str) -> None:
    (read,) = Stage("agent").updated(call(arguments))
    assert Stage("client").updated(read) == [call(arguments)]


def test_more_than_the_overview_shows_comes_back_but_no_secret_is_kept() -> None:
    (read,) = Stage("agent").updated(call('{"token":"owl-secret","a":1}', mood="angry"))
    assert "owl-secret" not in json.dumps(read["_meta"])
    (hidden,) = Stage("agent").updated(call('{"token":"owl-secret"', mood="angry"))
    assert "owl-secret" not in json.dumps(hidden["_meta"])
    (plain,) = Stage("agent").updated(call('{"a":1}', mood="angry"))
    assert Stage("client").updated(plain) == [call('{"a":1}', mood="angry")]


def test_a_call_without_a_name_gets_one() -> None:
    agent = Stage("agent")
    (read,) = agent.updated({"kind": "tool_call", "content": {"tool_call_id": "t-1"}})
    assert drop_original(read) == {"sessionUpdate": "tool_call", "toolCallId": "t-1", "title": "Tool call"}
    assert agent.repaired == ["a tool call without a name"]


@every("given", [{"lines": 3}, ["a"], None, 7])
def test_an_output_that_is_no_text_is_shown_as_json_and_comes_back(given: Any) -> None:
    said = {"kind": "tool_call_update", "content": {"toolCallId": "t-1", "output": given}}
    (read,) = Stage("agent").updated(said)
    assert read["rawOutput"] == given
    assert json.loads(read["content"][0]["content"]["text"]) == given
    assert Stage("client").updated(read) == [said]


def test_a_call_of_v1_is_announced_with_what_the_overview_has() -> None:
    client = Stage("client")
    places = [{"path": "/a"}]
    (said,) = client.updated(v1_call(kind="read", locations=places, rawInput={"a": 1}, name="peck"))
    assert said == call('{"a":1}')
    assert client.lost == [
        "the title of a tool call",
        "the kind of a tool call",
        "the locations of a tool call",
    ]


def test_the_life_of_a_call_is_said_once_when_it_ends() -> None:
    client = Stage("client")
    assert len(client.updated(v1_call(status="pending"))) == 1
    assert client.updated(change(status="in_progress")) == []
    assert client.updated(change(content=shown(text("one"), text("two")))) == []
    assert client.updated(change(status="completed")) == [output("one\ntwo")]
    assert client.lost == ["the status of a tool call"]


def test_a_call_that_has_ended_when_it_is_announced_is_said_in_two() -> None:
    said = Stage("client").updated(v1_call(status="completed", content=shown(text("done"))))
    assert [one["kind"] for one in said] == ["tool_call", "tool_call_update"]
    assert said[1] == output("done")


def test_a_failure_is_sent_as_output_and_named() -> None:
    client = Stage("client")
    assert client.updated(change(status="failed", rawOutput={"why": "no"})) == [output('{"why":"no"}')]
    assert client.lost == ["the failure of a tool call"]


def test_diffs_are_left_out_of_the_output_and_named() -> None:
    client = Stage("client")
    diff = {"type": "diff", "path": "/a", "newText": "x"}
    assert client.updated(change(status="completed", content=[*shown(text("ok")), diff])) == [output("ok")]
    assert client.lost == ["diffs, terminals and media of a tool call"]


def test_what_a_turn_left_open_is_forgotten_with_it() -> None:
    client = Stage("client")
    client.asked("session/prompt", {"sessionId": "s", "content": []}, 5)
    client.updated(change(content=shown(text("half"))))
    assert isinstance(client.edge, AcpexClient)
    assert len(client.edge.calls) == 1
    client.take({"id": 5, "result": {"stopReason": "cancelled"}})
    assert len(client.edge.calls) == 0


def test_calls_of_two_sessions_do_not_mix() -> None:
    client = Stage("client")
    client.updated(change(content=shown(text("one"))), "a")
    assert client.updated(change(status="completed"), "b") == [output("")]
    assert client.updated(change(status="completed"), "a") == [output("one")]
