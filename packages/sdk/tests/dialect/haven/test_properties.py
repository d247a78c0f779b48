"""What holds for any input: nothing raises, what can be said comes back, every request is answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect import EdgeSettings, Ledger, Message, make_edge
from tests.dialect.edges import Pair, message
from tests.dialect.odd import fields, odd

texts = st.text(max_size=8)
ids = st.sampled_from(["c1", "c2", "c3"])
sessions = st.sampled_from(["s", "t"])


resources = fields({"uri": texts, "text": texts}, mimeType=texts) | fields({"uri": texts, "blob": texts})
blocks = st.one_of(
    fields({"type": st.just("text"), "text": texts}),
    fields({"type": st.just("image"), "mimeType": texts, "data": texts}),
    fields({"type": st.just("audio"), "mimeType": texts, "data": texts}),
    fields({"type": st.just("resource_link"), "uri": texts}, name=texts),
    fields({"type": st.just("embedded_resource"), "resource": resources}),
)
contents = st.lists(
    fields({"type": st.just("content"), "content": blocks})
    | fields({"type": st.just("diff"), "path": texts, "newText": texts}),
    max_size=2,
)
details = {
    "kind": st.sampled_from(["file", "command", "search", "other"]),
    "locations": st.lists(fields({"path": texts}, line=st.integers(0, 9)), max_size=2),
    "content": contents,
    "rawInput": st.dictionaries(texts, texts, max_size=2),
}
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed"])
updates = st.one_of(
    fields(
        {
            "sessionUpdate": st.sampled_from(
                ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]
            ),
            "content": blocks,
        }
    ),
    fields(
        {"sessionUpdate": st.just("tool_call"), "id": ids, "name": texts.filter(bool), "status": statuses},
        **details,
    ),
    fields({"sessionUpdate": st.just("tool_call_update"), "id": ids}, status=statuses, **details),
    fields({"sessionUpdate": st.just("current_mode_update"), "currentModeId": texts}),
)


def as_legacy(update: dict[str, Any]) -> dict[str, Any]:
    return {("type" if name == "sessionUpdate" else name): value for name, value in update.items()}


@pytest.mark.parametrize("dialect", ["haven", "haven-legacy"])
@given(st.lists(st.tuples(sessions, updates), max_size=6))
def test_what_an_agent_can_say_comes_back_as_it_was(dialect: str, told: list[tuple[str, Any]]) -> None:
    pair = Pair(dialect)
    for session, update in told:
        update = as_legacy(update) if dialect == "haven-legacy" else update
        note = {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": session, "update": update},
        }
        _, heard = pair.carry("to_client", note)
        assert heard == [note]


@given(st.lists(blocks, max_size=4))
def test_what_a_client_can_ask_comes_back_as_it_was(prompt: list[Any]) -> None:
    params = {"sessionId": "s", "prompt": prompt}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params}
    assert Pair("haven").carry("to_agent", asked)[1] == [asked]


NAMES = """sessionId update sessionUpdate type id toolCallId name title kind status content resource uri
    toolCall options optionId outcome prompt capabilities clientCapabilities agentCapabilities
    stopReason _meta raw"""
WORDS = """tool_call tool_call_update agent_message_chunk resource_link resource embedded_resource content
    diff haven file selected c1"""
METHODS = "initialize session/prompt session/update session/request_permission session/cancel"
odd_frames = odd(NAMES.split(), WORDS.split(), METHODS.split())


@pytest.mark.parametrize("dialect", ["haven", "haven-legacy"])
@pytest.mark.parametrize("position", ["client", "agent"])
@given(st.lists(st.tuples(st.booleans(), odd_frames), max_size=6))
def test_no_message_makes_an_edge_raise(dialect: str, position: Any, frames: list[tuple[bool, Any]]) -> None:
    edge = make_edge(dialect, position, EdgeSettings(consent=lambda params: "c1"), Ledger())
    for from_peer, frame in frames:
        said: Message = message(frame)
        outs = edge.from_peer(said) if from_peer else edge.from_inside(said)
        # A request goes on, or is answered; and an answer is for who asked.
        if said.is_request:
            back, on = ("peer", "inside") if from_peer else ("inside", "peer")
            answered = [one for way, one in outs if way == back and one.is_answer and one.id == said.id]
            passed = [one for way, one in outs if way == on and one.is_request and one.id == said.id]
            assert len(answered) + len(passed) == 1
    edge.peer_ended()
