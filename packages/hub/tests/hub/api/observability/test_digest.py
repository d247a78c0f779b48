"""What entries of a stream tell whoever watches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_hub.api.observability.digest import (
    QuestionEntry,
    SessionMadeEntry,
    SettledEntry,
    StreamEvent,
    ToolCallEntry,
    TurnEndEntry,
    TurnStartEntry,
    chunk_starts,
    is_dull,
    read_entry,
)
from dragoman_hub.api.observability.usage import AgentUsage, Cost, Tokens
from dragoman_local.journal import Direction, Entry, StoredEntry
from tests.hub.api.observability.fakes import answer, ask, note, prompt, update


def read(entry: Entry, *, sequence: int = 5) -> StreamEvent | None:
    return read_entry(StoredEntry(sequence, entry.direction, entry.frame, entry.time))


TOLD: list[tuple[Entry, StreamEvent]] = [
    (note("made", agent="review", cwd="/x"), SessionMadeEntry("review")),
    (prompt("k1"), TurnStartEntry("k1")),
    (note("turn_ended", key="k1", result={"stopReason": "end_turn"}), TurnEndEntry("k1", "end_turn")),
    (note("turn_ended", key="k1", result={"stopReason": "on a whim"}), TurnEndEntry("k1", "other")),
    (note("turn_ended", key="k1", error={"code": -32603, "message": "no"}), TurnEndEntry("k1", "error")),
    (ask(toolCall={"toolCallId": "c1"}), QuestionEntry("5", "session/request_permission", "c1")),
    (ask("elicitation/create"), QuestionEntry("5", "elicitation/create")),
    (note("settled", request="3", outcome="answered", by="owner"), SettledEntry("3", "answered")),
    (
        update("tool_call", toolCallId="c1", kind="edit", status="pending"),
        ToolCallEntry("c1", "edit", "pending"),
    ),
    (update("tool_call_update", toolCallId="c1", status="completed"), ToolCallEntry("c1", "", "completed")),
    (
        update("usage_update", used=1, size=2, cost={"amount": 3, "currency": "USD"}),
        AgentUsage(session="s", cost=Cost(3.0, "USD"), context_used=1, context_size=2),
    ),
    (
        answer(stopReason="end_turn", usage={"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}),
        AgentUsage(tokens=Tokens(total=3, input=1, output=2)),
    ),
]


@pytest.mark.parametrize(("entry", "told"), TOLD)
def test_what_matters_is_told(entry: Entry, told: StreamEvent) -> None:
    assert read(entry) == told


@pytest.mark.parametrize(
    "entry",
    [
        update("agent_message_chunk", content={"type": "text", "text": 'a "tool_call" of "usage_update"'}),
        ask("fs/read_text_file", path="/x"),
        ask("terminal/create", command="ls"),
        answer(stopReason="end_turn"),
        note("heard", n=7),
        note("renamed", title="turn_ended"),
        Entry("note", b"a line of standard error", 0.0),
        Entry("to_agent", b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}', 0.0),
        Entry(
            "to_client", b'{"jsonrpc":"2.0","method":"session/update","params":{"update":["tool_call"]}}', 0.0
        ),
    ],
)
def test_everything_else_is_passed_over(entry: Entry) -> None:
    assert read(entry) is None


def test_dull_is_what_tells_nothing_and_only_that() -> None:
    for entry, told in TOLD:
        assert entry.direction != "to_client" or not is_dull(entry.frame), told
    assert is_dull(update("agent_message_chunk", content={"type": "text", "text": "hi"}).frame)
    assert is_dull(update("tool_call", toolCallId="c1", kind="edit").frame, tools=False)


def test_chunks_are_known_by_their_beginning() -> None:
    assert update("agent_message_chunk", content={}).frame.startswith(chunk_starts("s"))
    assert not update("usage_update", used=1).frame.startswith(chunk_starts("s"))
    assert not any(entry.frame.startswith(chunk_starts("s")) for entry, _ in TOLD)


@given(
    st.sampled_from(["to_agent", "to_client", "note"]),
    st.sampled_from(
        [
            b"",
            b'{"hub":',
            b'{"method":"session/prompt"',
            b'{"jsonrpc":"2.0","method":"session/update","params":{',
        ]
    ),
    st.binary(max_size=40),
)
def test_no_bytes_make_it_raise(direction: Direction, start: bytes, rest: bytes) -> None:
    read_entry(StoredEntry(1, direction, start + rest, 0.0))
