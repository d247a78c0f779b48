"""Frames read as a person would read them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.journal import Direction, StoredEntry
from dragoman_local.journal.conversation import LONGEST, LONGEST_OUTPUT, Moment, moments


def update(**fields: Any) -> tuple[Direction, Any]:
    return "to_client", {"method": "session/update", "params": {"sessionId": "s", "update": fields}}


def chunk(kind: str, text: str, **fields: Any) -> tuple[Direction, Any]:
    return update(sessionUpdate=kind, content={"type": "text", "text": text}, **fields)


def moments_of(*frames: tuple[Direction, Any]) -> list[Moment]:
    return list(
        moments(
            StoredEntry(n, direction, json.dumps(value).encode(), float(n))
            for n, (direction, value) in enumerate(frames, 1)
        )
    )


def told(*frames: tuple[Direction, Any]) -> list[tuple[str, str]]:
    return [(moment.kind, moment.text) for moment in moments_of(*frames)]


def test_a_whole_turn_is_told() -> None:
    blocks = [{"type": "text", "text": "Do it"}, {"type": "resource_link", "uri": "file:///x", "name": "x"}]
    options = [{"optionId": "y", "name": "Yes, do"}]
    asks = {"toolCall": {"toolCallId": "t"}, "options": options}
    plan = [{"content": "first", "status": "completed"}, {"content": "second"}]
    assert told(
        ("to_agent", {"id": 1, "method": "session/prompt", "params": {"prompt": blocks}}),
        chunk("agent_thought_chunk", "Let me "),
        chunk("agent_thought_chunk", "think"),
        update(sessionUpdate="plan", entries=plan),
        update(sessionUpdate="tool_call", toolCallId="t", title="Run it", status="pending"),
        ("to_client", {"id": 7, "method": "session/request_permission", "params": asks}),
        ("to_agent", {"id": 7, "result": {"outcome": {"outcome": "selected", "optionId": "y"}}}),
        update(sessionUpdate="tool_call_update", toolCallId="t", status="in_progress"),
        update(sessionUpdate="tool_call_update", toolCallId="t", status="completed"),
        chunk("agent_message_chunk", "Don"),
        chunk("agent_message_chunk", "e."),
        update(sessionUpdate="current_mode_update", currentModeId="code"),
        ("to_client", {"id": 1, "result": {"stopReason": "end_turn"}}),
    ) == [
        ("prompt", "Do it[file:///x]"),
        ("thought", "Let me think"),
        ("plan", "[completed] first\n[pending] second"),
        ("tool", "Run it (pending)"),
        ("permission", "may it: Run it?"),
        ("permission", "Yes, do"),
        ("tool", "Run it: completed"),
        ("message", "Done."),
        ("mode", "code"),
        ("end", "end_turn"),
    ]


def test_what_a_tool_printed_and_wrote_is_searched_once_it_has_ended() -> None:
    def printed(text: str) -> dict[str, Any]:
        return {"type": "content", "content": {"type": "text", "text": text}}

    diff = {"type": "diff", "path": "/x", "oldText": "a", "newText": "needle"}
    long = [printed("x" * LONGEST_OUTPUT * 2)]
    found = moments_of(
        update(sessionUpdate="tool_call", toolCallId="t", title="Run", status="pending"),
        update(sessionUpdate="tool_call_update", toolCallId="t", content=[printed("one")]),
        update(sessionUpdate="tool_call_update", toolCallId="t", content=[printed("one two"), diff]),
        update(sessionUpdate="tool_call_update", toolCallId="t", status="completed"),
        update(sessionUpdate="tool_call", toolCallId="u", title="Read", status="failed", content=[diff]),
        update(sessionUpdate="tool_call", toolCallId="v", title="Cat", status="completed", content=long),
    )
    assert [moment.text for moment in found] == [
        "Run (pending)",
        "Run: completed",
        "Read (failed)",
        "Cat (completed)",
    ]
    assert [moment.output for moment in found] == ["", "one two\nneedle", "needle", "x" * LONGEST_OUTPUT]
    assert found[1].search_text == "Run: completed\none two\nneedle"


def test_messages_with_ids_of_their_own_are_two() -> None:
    assert told(
        chunk("agent_message_chunk", "a", messageId="1"),
        chunk("agent_message_chunk", "b", messageId="1"),
        chunk("agent_message_chunk", "c", messageId="2"),
    ) == [("message", "ab"), ("message", "c")]


def test_frames_that_say_nothing_do_not_part_a_message() -> None:
    usage = update(sessionUpdate="usage_update", used=1, size=2)
    assert told(chunk("agent_message_chunk", "a"), usage, chunk("agent_message_chunk", "b")) == [
        ("message", "ab")
    ]


def test_a_secret_that_the_stream_cut_in_two_is_hidden_once_it_is_whole() -> None:
    key = "glpat-" + "a1B2" * 5
    cut = (chunk("agent_message_chunk", part) for part in ("It is ", key[:11], key[11:], ", keep it"))
    assert told(*cut) == [("message", "It is [redacted], keep it")]


def test_a_cancelled_question_and_an_error_are_told() -> None:
    assert told(
        ("to_agent", {"id": 7, "result": {"outcome": {"outcome": "cancelled"}}}),
        ("to_client", {"id": 1, "error": {"code": -32000, "message": "Log in first"}}),
    ) == [("permission", "cancelled"), ("error", "-32000: Log in first")]


def test_a_very_long_speech_comes_in_pieces_and_loses_nothing() -> None:
    piece = "x" * 10_000
    spoken = told(*[chunk("agent_message_chunk", piece)] * 20)
    assert len(spoken) > 1
    assert all(len(text) <= LONGEST + len(piece) for _, text in spoken)
    assert "".join(text for _, text in spoken) == piece * 20


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["to_agent", "to_client", "note"]),
            st.binary(max_size=30)
            | st.sampled_from(
                [
                    b'{"method":"session/update","params":[]}',
                    b'{"method":"session/update","params":{"update":{"sessionUpdate":["plan"],"entries":1}}}',
                    b'{"method":"session/update","params":{"update":{"sessionUpdate":"plan","entries":[1]}}}',
                    b'{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call"}}}',
                    b'{"method":"session/prompt","params":{"prompt":[1,{"type":5},{"type":"image"}]}}',
                    b'{"result":{"stopReason":5,"outcome":7},"error":[]}',
                    b'["session/update"]',
                    b'{"error":{"code":null}}',
                ]
            ),
        )
    )
)
def test_no_frame_is_too_odd_to_be_passed_over(frames: list[tuple[Direction, bytes]]) -> None:
    stored = [StoredEntry(n, direction, frame, 0.0) for n, (direction, frame) in enumerate(frames, 1)]
    for moment in moments(stored):
        assert 1 <= moment.first <= moment.last <= len(frames)
