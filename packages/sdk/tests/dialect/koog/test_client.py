"""A koog client in front of a v1 agent: `serverInfo`, full tool calls, whole messages made whole again."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Message, Translator
from dragoman.dialect.koog import KoogAgent, KoogClient
from dragoman.dialect.koog.names import SPARSE, SWITCH
from dragoman.dialect.message import answer, encode, notification, refusal, request
from tests.dialect.edges import Pair, message, params_of, remarks

TEXT = {"type": "text", "text": "x"}
MORE = {"type": "text", "text": "y"}


@pytest.fixture
def edge() -> KoogClient:
    return KoogClient(EdgeSettings(), Ledger())


def note(**update: Any) -> Message:
    return notification("session/update", {"sessionId": "s", "update": update})


def heard(edge: KoogClient, *said: Message) -> list[Any]:
    return [params_of(one)["update"] for inner in said for _, one in edge.from_inside(inner)]


def parts(*content: Any) -> list[Message]:
    """A whole message as it comes from a koog agent, in v1."""
    whole = note(sessionUpdate="message", role="assistant", content=list(content))
    return [one for _, one in KoogAgent(EdgeSettings(), Ledger()).from_peer(whole)]


def test_what_it_asks_passes_as_it_is(edge: KoogClient) -> None:
    for asked in (request(1, "initialize", {}), notification("session/cancel", {"sessionId": "s"})):
        assert edge.from_peer(asked)[0][1] is asked


def test_a_v1_agent_is_introduced_as_the_guide_wants_it(edge: KoogClient) -> None:
    edge.from_peer(request(1, "initialize", {"protocolVersion": 1}))
    result = {
        "protocolVersion": 1,
        "agentInfo": {"name": "echo", "title": "Echo", "version": "2"},
        "agentCapabilities": {"loadSession": True},
    }
    ((_, told),) = edge.from_inside(answer(1, result))
    assert told.result == {
        **result,
        "capabilities": {"tools": []},
        "serverInfo": {"name": "echo", "version": "2"},
    }


def test_a_nameless_agent_is_introduced_as_unknown(edge: KoogClient) -> None:
    edge.from_peer(request(1, "initialize", {"protocolVersion": 1}))
    ((_, told),) = edge.from_inside(message({"id": 1, "result": {"protocolVersion": 1, "agentInfo": None}}))
    assert isinstance(told.result, dict)
    assert told.result["serverInfo"] == {"name": "unknown", "version": "unknown"}


def test_tools_whose_description_lost_a_secret_are_not_made_up_again() -> None:
    pair = Pair("koog")
    pair.carry("to_agent", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    tool = {"name": "login", "inputSchema": {"properties": {"password": {"default": "hunter2"}}}}
    server = {"name": "reader", "version": "1"}
    result = {"protocolVersion": 1, "capabilities": {"tools": [tool]}, "serverInfo": server}
    between, told = pair.carry("to_client", {"jsonrpc": "2.0", "id": 1, "result": result})
    assert "hunter2" not in repr(between)
    assert told[0]["result"]["capabilities"] == {"tools": []}
    assert told[0]["result"]["serverInfo"] == server


def test_errors_pass_as_they_are(edge: KoogClient) -> None:
    edge.from_peer(request(1, "initialize", {}))
    error = refusal(1, -32603, "Internal error")
    assert edge.from_inside(error) == [("peer", error)]
    edge.from_peer(request(2, "session/prompt", {}))
    failed = refusal(2, -32000, "Authentication required")
    assert edge.from_inside(failed) == [("peer", failed)]


# Tool calls.


def test_a_new_tool_call_says_everything(edge: KoogClient) -> None:
    (told,) = heard(edge, note(sessionUpdate="tool_call", toolCallId="c", title="T", kind=None))
    assert told == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "title": "T",
        "kind": "other",
        "status": "pending",
    }
    assert remarks(edge.ledger) == [("repaired", SPARSE[0])]


def test_a_full_one_and_an_update_of_one_are_left_alone(edge: KoogClient) -> None:
    full = note(sessionUpdate="tool_call", toolCallId="c", title="T", kind="read", status="pending")
    for told in (full, note(sessionUpdate="tool_call_update", toolCallId="c")):
        assert edge.from_inside(told)[0][1] is told
    assert edge.ledger.entries == []


def test_the_kind_that_the_guide_does_not_know_is_sent_as_other(edge: KoogClient) -> None:
    (told,) = heard(edge, note(sessionUpdate="tool_call_update", toolCallId="c", kind="switch_mode"))
    assert told["kind"] == "other"
    assert remarks(edge.ledger) == [("repaired", SWITCH[0])]


# Whole messages.


def test_a_message_is_said_when_its_last_part_has_come(edge: KoogClient) -> None:
    first, second = parts(TEXT, MORE)
    assert heard(edge, first) == []
    assert heard(edge, second) == [{"sessionUpdate": "message", "role": "assistant", "content": [TEXT, MORE]}]


def test_a_part_that_was_changed_in_between_is_believed(edge: KoogClient) -> None:
    first, second = parts(TEXT, MORE)
    changed = {**params_of(second)["update"], "content": {"type": "text", "text": "z"}}
    (told,) = heard(edge, first, note(**changed))
    assert told["content"] == [TEXT, {"type": "text", "text": "z"}]


CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "message-1", "content": TEXT}


def test_something_else_in_between_makes_chunks_of_it_in_their_order(edge: KoogClient) -> None:
    first, second = parts(TEXT, MORE)
    plan = note(sessionUpdate="plan", entries=[])
    assert heard(edge, first, plan, second) == [
        CHUNK,
        {"sessionUpdate": "plan", "entries": []},
        {**CHUNK, "content": MORE},
    ]


def test_a_part_that_is_missing_makes_chunks_of_the_others(edge: KoogClient) -> None:
    first, _, third = parts(TEXT, MORE, TEXT)
    assert heard(edge, first, third) == [CHUNK, CHUNK]


@pytest.mark.parametrize(
    "more", [{"other": 1}, {"messageId": "another"}, {"sessionUpdate": "agent_thought_chunk"}]
)
def test_what_became_something_else_is_no_part(edge: KoogClient, more: Any) -> None:
    first, second = parts(TEXT, MORE)
    changed = {**params_of(second)["update"], **more}
    told = heard(edge, first, note(**changed))
    assert told[0] == CHUNK
    assert told[1].get("content") == MORE
    assert "message" not in [one["sessionUpdate"] for one in told]


def test_the_end_of_the_turn_lets_go_of_what_is_held(edge: KoogClient) -> None:
    edge.from_peer(request(3, "session/prompt", {"sessionId": "s"}))
    first, _ = parts(TEXT, MORE)
    heard(edge, first)
    outs = edge.from_inside(answer(3, {"stopReason": "end_turn"}))
    assert [one.method for _, one in outs if one.method] == ["session/update"]
    assert outs[-1] == ("peer", answer(3, {"stopReason": "end_turn"}))


def test_nothing_overtakes_what_is_held(edge: KoogClient) -> None:
    translator = Translator([edge], edge.ledger)
    first, _ = parts(TEXT, MORE)
    chunk = encode(note(sessionUpdate="agent_message_chunk", content=MORE))
    assert translator.from_inside(chunk).peer == chunk  # usually it is not looked at
    assert translator.from_inside(encode(first)).peer == b""
    passed = translator.from_inside(chunk).peer.splitlines()
    assert (len(passed), passed[1] + b"\n") == (2, chunk)


# The answer's content.


def test_what_a_koog_agent_said_in_its_answer_is_there_again() -> None:
    pair = Pair("koog")
    pair.carry(
        "to_agent", {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": "s"}}
    )
    ended = {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn", "content": [TEXT]}}
    _, heard = pair.carry("to_client", ended)
    # Nothing was said before: it is said first, as the guide wants it.
    assert [frame.get("method") for frame in heard] == ["session/update", None]
    assert heard[0]["params"]["update"]["content"] == [TEXT]
    assert heard[1] == ended
