from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.crow.frames import CALL, PLANNED, SESSION, STARTED, Frame, update
from tests.dialect.crow.stage import Side, crow_agent, crow_client, judged
from tests.every import every
from tests.interop.judges import refused_by_python


def read(fields: Any, side: Side | None = None) -> Frame:
    """An update of a crow agent in v1."""
    ((toward, said),) = (side or crow_agent()).hear(update(fields))
    assert toward == "inside"
    assert refused_by_python([judged(said)]) == []
    fields_of: Frame = said["params"]["update"]
    return fields_of


def write(fields: Any, side: Side | None = None) -> Frame:
    """An update of a v1 agent in crow."""
    ((toward, said),) = (side or crow_client()).take(update(fields))
    assert toward == "peer"
    assert said["params"]["sessionId"] == SESSION
    fields_of: Frame = said["params"]["update"]
    return fields_of


def chunk(block: Any, kind: str = "agent_message_chunk", **more: Any) -> Frame:
    return {"sessionUpdate": kind, "content": block, **more}


@pytest.mark.parametrize("who", ["agent_message", "agent_thought", "user_message"])
def test_texts_and_chunks_are_the_same(who: str) -> None:
    text = {"@type": f"{who}_text", "text": "caw"}
    canonical = chunk({"type": "text", "text": "caw"}, f"{who}_chunk")
    assert read(text) == canonical
    assert write(canonical) == text


BLOCKS = {
    "[image image/png]": {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    "[audio audio/wav]": {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    "[nest](file:///nest)": {"type": "resource_link", "name": "nest", "uri": "file:///nest"},
    "[file:///egg]\nwhite": {"type": "resource", "resource": {"uri": "file:///egg", "text": "white"}},
    "[file:///egg]": {"type": "resource", "resource": {"uri": "file:///egg", "blob": "aGk="}},
}


@every("text", BLOCKS)
def test_a_block_is_described_and_travels_beside_its_description(text: str) -> None:
    side = crow_client()
    written = write(chunk(BLOCKS[text]), side)
    assert written["text"] == text
    assert side.repaired == ["content that is not text"]
    assert read(written) == chunk(BLOCKS[text])


def test_a_block_beside_a_text_that_says_something_else_is_not_believed() -> None:
    block = {"type": "text", "text": "yes"}
    canonical = read({"@type": "agent_message_text", "text": "no", "content": block})
    assert canonical["content"] == {"type": "text", "text": "no"}


def test_what_v1_adds_to_a_text_is_carried_beside_it() -> None:
    block = {"type": "text", "text": "caw", "annotations": {"lastModified": "2025-06-01"}}
    canonical = chunk(block, messageId="m-1", _meta={"who": {"mimeType": "left alone"}})
    written = write(canonical)
    assert written == {
        "@type": "agent_message_text",
        "text": "caw",
        "content": {"type": "text", "text": "caw", "annotations": {"last_modified": "2025-06-01"}},
        "message_id": "m-1",
        "_meta": {"who": {"mimeType": "left alone"}},
    }
    assert read(written) == canonical


def test_a_tool_call_names_its_tool() -> None:
    assert read(STARTED)["name"] == read(STARTED)["title"] == "count"


def test_a_tool_call_carries_its_output_places_and_raw_values_beside_the_rest() -> None:
    canonical = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": CALL,
        "status": "completed",
        "content": [
            {"type": "diff", "path": "/nest", "oldText": "3", "newText": "4"},
            {"type": "terminal", "terminalId": "t"},
            {"type": "content", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}},
        ],
        "locations": [{"path": "/nest", "line": 3}],
        "rawInput": {"mimeType": "the tool's own name"},
        "rawOutput": "4",
    }
    side = crow_client()
    written = write(canonical, side)
    assert written["content"][0] == {"type": "diff", "path": "/nest", "old_text": "3", "new_text": "4"}
    assert written["raw_input"] == canonical["rawInput"]
    assert side.repaired == ["members of an update that crow does not name"]
    assert read(written) == canonical


def test_a_tool_call_shows_all_four_members_and_no_nulls() -> None:
    side = crow_client()
    call = {"sessionUpdate": "tool_call", "toolCallId": CALL, "title": "count", "rawInput": None}
    assert write(call, side) == {**STARTED, "kind": "other", "status": "pending"}
    assert side.repaired == ["members that crow always shows"]
    change = {"sessionUpdate": "tool_call_update", "toolCallId": CALL, "title": None}
    assert write(change) == {"@type": "tool_call_update", "tool_call_id": CALL}


@every("odd", ["perched", 7, [], {}])
def test_values_that_v1_does_not_know_give_way_to_its_defaults_and_come_back(odd: Any) -> None:
    side = crow_agent()
    call = {**STARTED, "kind": odd, "status": odd}
    canonical = read(call, side)
    assert canonical["kind"] == "other"
    assert "status" not in canonical
    assert side.repaired[0] == "values that v1 does not know"
    assert write(canonical) == call


def test_an_original_that_was_overtaken_is_not_used() -> None:
    canonical = read({**STARTED, "kind": "perched"})
    written = write({**canonical, "title": "count again"})
    assert written["title"] == "count again"
    assert written["kind"] == "other"
    assert "_meta" not in written


def test_output_that_is_plain_text_becomes_a_block() -> None:
    side = crow_agent()
    canonical = read({"@type": "tool_call_update", "tool_call_id": CALL, "content": "four"}, side)
    assert canonical["content"] == [{"type": "content", "content": {"type": "text", "text": "four"}}]
    assert side.repaired == ["output of a tool call that is plain text"]


def test_entries_of_a_plan_are_filled_in_and_those_without_content_left_out() -> None:
    side = crow_agent()
    plan = {"@type": "plan_update", "entries": [{"content": "Fly"}, {"content": 3}, "Sing"]}
    canonical = read(plan, side)
    assert canonical["entries"] == [{"content": "Fly", "priority": "medium", "status": "pending"}]
    assert write(canonical) == plan


def test_a_plan_with_an_id_is_the_plan() -> None:
    side = crow_client()
    plan = {"type": "items", "planId": "p", "entries": PLANNED["entries"]}
    assert write({"sessionUpdate": "plan_update", "plan": plan}, side) == PLANNED
    assert side.repaired == ["a plan with an id"]


def test_a_plan_without_entries_is_never_sent_under_a_name_that_promises_some() -> None:
    side = crow_client()
    markdown = {"type": "markdown", "planId": "p", "content": "# Fly"}
    assert side.take(update({"sessionUpdate": "plan_update", "plan": markdown})) == []
    assert side.lost == ["a plan that is not a list of entries"]


OTHERS: list[Frame] = [
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "fly", "description": "Off", "input": {"hint": "where"}}],
    },
    {"sessionUpdate": "current_mode_update", "currentModeId": "night"},
    {"sessionUpdate": "session_info_update", "title": "Eggs", "updatedAt": "2025-06-01T00:00:00Z"},
    {"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": {"amount": 0.5, "currency": "EUR"}},
    {"sessionUpdate": "plan_removed", "planId": "p"},
]


@every("canonical", OTHERS, ids=lambda fields: str(fields["sessionUpdate"]))
def test_an_update_that_crow_lacks_goes_out_under_its_v1_name_in_snake_case(canonical: Frame) -> None:
    side = crow_client()
    written = write(canonical, side)
    assert written["@type"] == canonical["sessionUpdate"]
    assert not any(letter.isupper() for name in written for letter in name)
    assert side.repaired == ["an update that crow does not know"]
    assert read(written) == canonical


def test_an_update_of_the_future_goes_out_too() -> None:
    future = {"sessionUpdate": "hatched", "toolCallId": "c", "ownName": {"sessionId": "s"}}
    assert write(future) == {"@type": "hatched", "tool_call_id": "c", "ownName": {"session_id": "s"}}


@pytest.mark.parametrize("name", ["permission_request", "agent_message_text", "tool_call_start"])
def test_an_update_of_v1_cannot_pass_for_one_of_crows(name: str) -> None:
    side = crow_client()
    forged = {"sessionUpdate": name, "text": "x", "toolCallId": "c", "permission_options": []}
    assert side.take(update(forged)) == []
    assert side.lost == ["an update that makes no sense"]


def test_an_original_in_meta_cannot_bring_in_a_question() -> None:
    asked = {"@type": "permission_request", "tool_call_id": "c", "permission_options": []}
    meta = {"dragoman/dialect": {"name": "crow", "raw": asked}}
    written = write({"sessionUpdate": "session_info_update", "_meta": meta})
    assert written == {"@type": "session_info_update"}


def test_an_update_that_v1_lacks_is_carried_in_meta_and_comes_back() -> None:
    side = crow_agent()
    sung = {"@type": "song", "verse_no": 2}
    canonical = read(sung, side)
    assert canonical["sessionUpdate"] == "session_info_update"
    assert side.lost == ["an update that v1 does not know"]
    assert write(canonical) == sung


def test_secrets_do_not_travel_in_an_original_and_half_an_original_does_not_come_back() -> None:
    canonical = read({"@type": "song", "api_key": "hush", "tune": {"password": "hush", "key": "C"}})
    assert "hush" not in str(canonical)
    assert write(canonical) == {"@type": "session_info_update"}


@every(
    "odd",
    [
        None,
        7,
        [],
        {},
        {"@type": None},
        {"@type": []},
        {"@type": "agent_message_text"},
        {"@type": "agent_message_text", "text": 7},
        {"@type": "tool_call_start", "tool_call_id": 7, "title": "x"},
        {"@type": "tool_call_update"},
    ],
)
def test_an_update_of_an_agent_that_makes_no_sense_is_dropped_and_put_down(odd: Any) -> None:
    side = crow_agent()
    assert side.hear(update(odd)) == []
    assert side.lost == ["an update that makes no sense"]


@every(
    "odd",
    [
        None,
        7,
        {},
        {"sessionUpdate": 1},
        {"sessionUpdate": "agent_message_chunk", "content": 7},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 7}},
        {"sessionUpdate": "tool_call", "toolCallId": None},
        {"sessionUpdate": "plan", "entries": 7},
    ],
)
def test_an_update_of_v1_that_makes_no_sense_is_dropped_and_put_down(odd: Any) -> None:
    side = crow_client()
    assert side.take(update(odd)) == []
    assert side.lost == ["an update that makes no sense"]


def test_an_update_of_no_session_is_dropped() -> None:
    side = crow_agent()
    assert side.hear(update(STARTED, session=7)) == []  # type: ignore[arg-type]
    assert side.lost == ["an update that makes no sense"]


def test_what_is_nested_too_deep_is_not_carried_along() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = {"a": deep}
    assert read({"@type": "song", "deep": deep}) == {"sessionUpdate": "session_info_update"}
    assert write({"sessionUpdate": "hatched", "deep": deep})["@type"] == "hatched"
