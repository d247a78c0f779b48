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
blocks = st.one_of(
    fields({"type": st.just("text"), "text": texts}),
    fields({"type": st.just("image"), "mimeType": texts, "data": texts}),
)
updates = st.one_of(
    fields(
        {
            "sessionUpdate": st.just("message"),
            "role": st.sampled_from(["assistant", "user"]),
            "content": st.lists(blocks, min_size=1, max_size=3),
        },
        more=texts,
    ),
    fields({"sessionUpdate": st.just("agent_message_chunk"), "content": blocks}),
    fields(
        {
            "sessionUpdate": st.just("tool_call"),
            "toolCallId": texts,
            "title": texts.filter(bool),
            "kind": st.sampled_from(["read", "other"]),
            "status": st.sampled_from(["pending", "failed"]),
        }
    ),
    fields({"sessionUpdate": st.just("plan"), "entries": st.just([])}),
)


@given(st.lists(st.tuples(st.sampled_from(["s", "t"]), updates), max_size=8))
def test_what_an_agent_can_say_comes_back_as_it_was(told: list[tuple[str, Any]]) -> None:
    pair = Pair("koog")
    for session, update in told:
        params = {"sessionId": session, "update": update}
        note = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        _, heard = pair.carry("to_client", note)
        assert heard == [note]
    assert pair.remarks == []


NAMES = """sessionId update sessionUpdate type role content messageId kind title status serverInfo agentInfo
    capabilities tools protocolVersion stopReason _meta raw name message part of"""
WORDS = "message agent_message_chunk user_message_chunk tool_call switch_mode assistant koog text"
METHODS = "initialize session/prompt session/update session/request_permission session/cancel"
odd_frames = odd(NAMES.split(), WORDS.split(), METHODS.split())


@pytest.mark.parametrize("position", ["client", "agent"])
@given(st.lists(st.tuples(st.booleans(), odd_frames), max_size=6))
def test_no_message_makes_an_edge_raise(position: Any, frames: list[tuple[bool, Any]]) -> None:
    edge = make_edge("koog", position, EdgeSettings(), Ledger())
    for from_peer, frame in frames:
        said: Message = message(frame)
        outs = edge.from_peer(said) if from_peer else edge.from_inside(said)
        if said.is_request:
            on = "inside" if from_peer else "peer"
            assert [one for way, one in outs if way == on and one.is_request and one.id == said.id] != []
    edge.peer_ended()
