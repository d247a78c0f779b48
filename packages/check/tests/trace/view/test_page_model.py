"""What a person reads of a recording: rows, each with the frames that it came of."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman_check.trace.view.page import join_pieces, make_model
from dragoman_local.journal.contract import Direction, Entry


def rows(*entries: Entry) -> list[dict[str, Any]]:
    return join_pieces(make_model(entries, title="t")).rows


def entry(direction: Direction, message: Any, at: float = 0.0) -> Entry:
    return Entry(direction, json.dumps(message).encode(), at)


def update(at: float = 0.0, **fields: Any) -> Entry:
    params = {"sessionId": "s", "update": fields}
    return entry("to_client", {"method": "session/update", "params": params}, at)


def chunk(text: str, **more: Any) -> Entry:
    return update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **more)


def test_pieces_are_one_message_until_something_else_comes() -> None:
    told = rows(chunk("Hel"), chunk("lo"), update(sessionUpdate="plan", entries=[]), chunk("again"))
    assert [row["kind"] for row in told] == ["message", "plan", "message"]
    assert (told[0]["blocks"], told[0]["count"]) == ([{"type": "text", "text": "Hello"}], 2)
    assert (told[0]["frame"], told[0]["last"]) == (0, 1)


def test_messages_with_different_ids_stay_apart() -> None:
    assert len(rows(chunk("a", messageId="1"), chunk("b", messageId="1"), chunk("c", messageId="2"))) == 2


def test_a_tool_call_is_one_row_however_often_it_is_reported() -> None:
    told = rows(
        update(1.0, sessionUpdate="tool_call", toolCallId="c", title="Run", kind="execute", status="pending"),
        chunk("meanwhile"),
        update(3.5, sessionUpdate="tool_call_update", toolCallId="c", status="completed", rawOutput={"a": 1}),
    )
    call = told[0]
    assert (call["title"], call["tool"], call["status"], call["reports"]) == (
        "Run",
        "execute",
        "completed",
        2,
    )
    assert (call["at"], call["end"]) == (0, 2500)


def test_a_question_knows_its_answer_and_how_long_it_took() -> None:
    asked = {"toolCall": {"title": "rm"}, "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]}
    told = rows(
        entry("to_client", {"id": 1, "method": "session/request_permission", "params": asked}, 10.0),
        entry("to_agent", {"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "y"}}}, 12.0),
    )
    assert (told[0]["outcome"], told[0]["took"], told[0]["answer"]) == (
        {"outcome": "selected", "optionId": "y"},
        2000,
        1,
    )


def test_a_turn_ends_where_its_answer_is() -> None:
    prompt = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "hi"}]}}
    told = rows(
        entry("to_agent", prompt),
        chunk("hello"),
        entry("to_client", {"id": 1, "result": {"stopReason": "end_turn"}}),
    )
    assert [row["kind"] for row in told] == ["prompt", "message", "end"]
    assert (told[0]["stop"], told[2]["stop"]) == ("end_turn", "end_turn")


def test_complaints_are_gathered_and_answers_to_nothing_stand_out() -> None:
    told = rows(
        entry("note", {"event": "stderr", "text": "one"}),
        entry("note", {"event": "stderr", "text": "two"}),
        entry("to_client", {"id": 9, "result": {}}),
        Entry("to_client", b"garbage", 0.0),
    )
    assert [(row["kind"], row.get("text")) for row in told] == [
        ("note", "one\ntwo"),
        ("stray", None),
        ("broken", "garbage"),
    ]


def test_findings_are_placed_by_frames_without_notes() -> None:
    entries = [entry("note", {"event": "start"}), chunk("a"), entry("note", {}), chunk("b")]
    found = {"rule": "X", "level": "fail", "why": "because"}
    model = make_model(entries, title="t", findings=[{"frame": 2, **found}, {"frame": 99, **found}])
    assert [one["frame"] for one in model.findings] == [3]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "method", "params", "update", "sessionUpdate", "content", "type", "text", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.sampled_from(["to_agent", "to_client", "note"]), json_values), max_size=6))
def test_anything_can_be_shown(told: list[tuple[Direction, Any]]) -> None:
    model = join_pieces(make_model([entry(direction, value) for direction, value in told], title="t"))
    assert len(model.frames) == len(told)
