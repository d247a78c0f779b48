"""What a v2 agent tells of a session, as a v1 client hears it: messages, plans, options and the rest."""

from __future__ import annotations

from typing import Any

from tests.dialect.v2.agent_stage import Stage, answer, text
from tests.every import every


def chunk(words: str, message_id: str = "m", kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message_id, "content": text(words)}


def test_chunks_pass_as_they_are() -> None:
    stage = Stage(open=True)
    stage.updates("agent_message_chunk", messageId="m", content=text("a"))
    stage.updates("agent_thought_chunk", messageId="t", content=text("b"))
    assert stage.shown == [chunk("a"), chunk("b", "t", "agent_thought_chunk")]


def test_a_whole_message_becomes_a_chunk_for_each_block() -> None:
    stage = Stage(open=True)
    stage.updates("agent_message", messageId="m", content=[text("a"), text("b")], _meta={"k": 1})
    stage.updates("user_message", messageId="u", content=[text("c")])
    first, second, third = stage.shown
    assert (first, second) == ({**chunk("a"), "_meta": {"k": 1}}, chunk("b"))
    assert third == chunk("c", "u", "user_message_chunk")


def test_a_whole_message_after_its_chunks_says_only_what_is_new() -> None:
    stage = Stage(open=True)
    for words in ("one ", "two "):
        stage.updates("agent_message_chunk", messageId="m", content=text(words))
    stage.forget()
    stage.updates("agent_message", messageId="m", content=[text("one two ")])
    assert stage.shown == []
    stage.updates("agent_message", messageId="m", content=[text("one "), text("two three")])
    assert stage.shown == [chunk("three")]
    link = {"type": "resource_link", "name": "pond", "uri": "file:///pond"}
    stage.updates("agent_message", messageId="m", content=[text("one two three"), link])
    assert [update["content"] for update in stage.shown] == [link]
    assert stage.losses == []


@every("content", [[text("other")], [], None, [text("on")]])
def test_what_was_shown_cannot_be_taken_back(content: Any) -> None:
    stage = Stage(open=True)
    stage.updates("agent_message_chunk", messageId="m", content=text("one"))
    stage.forget()
    stage.updates("agent_message", messageId="m", content=content)
    assert stage.shown == []
    assert stage.losses == ["a message changed after it was shown"]


def test_a_message_that_is_announced_empty_says_nothing_yet() -> None:
    stage = Stage(open=True)
    stage.updates("agent_message", messageId="m", content=[], _meta=None)
    stage.updates("agent_message", messageId="n")
    assert stage.shown == []
    stage.updates("agent_message_chunk", messageId="m", content=text("one"))
    assert stage.shown == [chunk("one")]
    assert stage.losses == []


def test_meta_without_content_has_no_place() -> None:
    stage = Stage(open=True)
    stage.updates("agent_message", messageId="m", _meta={"k": 1})
    assert stage.losses == ["_meta of a message without content"]


def test_messages_of_two_kinds_with_one_id_stay_apart() -> None:
    stage = Stage(open=True)
    stage.updates("agent_message_chunk", messageId="1", content=text("a"))
    stage.updates("agent_thought_chunk", messageId="1", content=text("b"))
    assert [update["messageId"] for update in stage.shown] == ["1", "agent_thought:1"]


def test_old_messages_are_forgotten_but_not_that_they_were_shown() -> None:
    stage = Stage(open=True)
    for number in range(70):
        stage.updates("agent_message_chunk", messageId=f"m{number}", content=text("x"))
    stage.forget()
    stage.updates("agent_message", messageId="m0", content=[text("x")])
    stage.updates("agent_message", messageId="m69", content=[text("x")])
    assert stage.shown == []
    assert stage.losses == ["a message changed after it was shown"]


def test_one_plan_is_the_plan() -> None:
    stage = Stage(open=True)
    entry = {"content": "dive", "priority": "high", "status": "pending"}
    stage.updates("plan_update", plan={"type": "items", "planId": "p", "entries": [entry]})
    assert stage.shown == [{"sessionUpdate": "plan", "entries": [entry]}]


def test_several_plans_are_one_list() -> None:
    stage = Stage(open=True)
    for name in ("a", "b"):
        entry = {"content": name, "priority": "low", "status": "pending"}
        stage.updates("plan_update", plan={"type": "items", "planId": name, "entries": [entry]})
    stage.updates("plan_removed", planId="a")
    stage.updates("plan_removed", planId="never")
    lists = [[entry["content"] for entry in update["entries"]] for update in stage.shown]
    assert lists == [["a"], ["a", "b"], ["b"]]
    assert stage.repairs == ["several plans"]


def test_a_plan_in_words_is_a_message() -> None:
    stage = Stage(open=True)
    stage.updates("plan_update", plan={"type": "markdown", "planId": "p", "content": "# Dive"})
    stage.updates("plan_update", plan={"type": "file", "planId": "q", "uri": "file:///plan"})
    stage.updates("plan_update", plan={"type": "_song", "planId": "r"})
    assert [update["content"]["text"] for update in stage.shown] == ["# Dive", "Plan: file:///plan"]
    assert stage.repairs == ["a plan that is not a list of steps"]
    assert stage.losses == ["a plan of a type that v1 does not know"]


def test_a_client_that_knows_plans_by_name_gets_them() -> None:
    stage = Stage(open=True, capabilities={"plan": {}})
    plan = {"type": "markdown", "planId": "p", "content": "# Dive"}
    stage.updates("plan_update", plan=plan)
    stage.updates("plan_removed", planId="p")
    assert stage.shown == [
        {"sessionUpdate": "plan_update", "plan": plan},
        {"sessionUpdate": "plan_removed", "planId": "p"},
    ]


def test_commands_lose_their_types() -> None:
    stage = Stage(open=True)
    known = {
        "type": "command",
        "name": "dive",
        "description": "down",
        "input": {"type": "text", "hint": "deep"},
    }
    stage.updates(
        "available_commands_update", availableCommands=[known, {"type": "_x", "name": "y", "description": ""}]
    )
    (update,) = stage.shown
    assert update["availableCommands"] == [{"name": "dive", "description": "down", "input": {"hint": "deep"}}]


def test_the_title_and_time_of_a_session_pass_and_its_meta_is_told_whole() -> None:
    stage = Stage(open=True)
    stage.updates("session_info_update", title="Pond", _meta={"a": 1, "b": 2})
    stage.updates("session_info_update", _meta={"b": None, "c": 3})
    stage.updates("session_info_update", _meta={})
    stage.updates("session_info_update", title=None, _meta=None)
    stage.updates("session_info_update", title=5)
    assert [{k: v for k, v in update.items() if k != "sessionUpdate"} for update in stage.shown] == [
        {"title": "Pond", "_meta": {"a": 1, "b": 2}},
        {"_meta": {"a": 1, "c": 3}},
        {"title": None, "_meta": {}},
    ]


def test_usage_passes_and_a_cost_cannot_be_cleared() -> None:
    stage = Stage(open=True)
    stage.updates("usage_update", used=1, size=9, cost={"amount": 1, "currency": "EUR"})
    stage.updates("usage_update", used=2, size=9, cost=None)
    stage.updates("usage_update", used="much", size=9)
    costs = [update.get("cost") for update in stage.shown]
    assert costs == [{"amount": 1, "currency": "EUR"}, None]
    assert stage.losses == ["a cost cleared", "a malformed usage_update"]


def test_notices_and_compactions_are_for_clients_that_ask_for_them() -> None:
    asking = Stage(open=True, capabilities={"session": {"notices": {}, "compaction": {}}})
    other = Stage(open=True)
    for stage in (asking, other):
        stage.updates("notice", severity="warning", title="Ice", description="thin")
        stage.updates("compaction_update", compactionId="c", status="completed", summary=[text("short")])
        stage.updates("compaction_summary_chunk", compactionId="c", content=text("er"))
    assert [update["sessionUpdate"] for update in asking.shown] == [
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
    ]
    assert other.shown == [{"sessionUpdate": "agent_message_chunk", "content": text("Ice\n\nthin")}]
    assert (other.repairs, other.losses) == (["a notice"], ["news of a compaction"])


@every(
    ("kind", "fields", "lost"),
    [
        ("_heron_song", {}, "an update of a kind that v1 does not know"),
        ("subagent_update", {"sessionId": "x"}, "news of subagents"),
        ("notice", {"severity": "info"}, "a notice without a title"),
        ("tool_call_update", {"toolCallId": 5}, "a tool call without an id"),
        ("tool_call_content_chunk", {"toolCallId": "c"}, "a malformed piece of a tool call's content"),
        ("agent_message_chunk", {"messageId": "m", "content": {"type": "text"}}, "malformed content"),
    ],
)
def test_what_v1_cannot_say_is_named(kind: str, fields: dict[str, Any], lost: str) -> None:
    stage = Stage(open=True)
    stage.updates(kind, **fields)
    assert stage.shown == []
    assert stage.losses == [lost]


def test_an_update_that_is_none_is_named() -> None:
    stage = Stage(open=True)
    stage.agent_tells("session/update", sessionId="s", update="what")
    stage.agent_tells("session/update", update={"sessionUpdate": "notice"})
    assert stage.shown == []
    assert stage.losses == ["a malformed update"]


MODE = {
    "type": "select",
    "configId": "mode",
    "name": "Mode",
    "category": "mode",
    "currentValue": "calm",
    "options": [{"value": "calm", "name": "Calm"}, {"value": "wild", "name": "Wild"}],
}
SWITCH = {"type": "boolean", "configId": "loud", "name": "Loud", "currentValue": True}


def in_v1(option: dict[str, Any], **more: Any) -> dict[str, Any]:
    rest = {name: value for name, value in option.items() if name != "configId"}
    return {"id": option["configId"], **rest, **more}


def test_a_new_session_tells_its_options_its_modes_and_then_its_commands() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/new", cwd="/pond", mcpServers=[])
    commands = [{"type": "command", "name": "dive", "description": "down"}]
    stage.agent_answers(3, {"sessionId": "t", "configOptions": [MODE], "availableCommands": commands})
    told, after = stage.heard_by_client
    assert told["result"] == {
        "sessionId": "t",
        "configOptions": [in_v1(MODE)],
        "modes": {
            "currentModeId": "calm",
            "availableModes": [{"id": "calm", "name": "Calm"}, {"id": "wild", "name": "Wild"}],
        },
    }
    assert after["params"]["update"]["availableCommands"] == [{"name": "dive", "description": "down"}]


def test_a_mode_is_chosen_as_an_option() -> None:
    stage = Stage(open=True, configOptions=[MODE])
    stage.client(3, "session/set_mode", sessionId="s", modeId="wild")
    (asked,) = stage.heard_by_agent
    assert asked["method"] == "session/set_config_option"
    assert asked["params"] == {"sessionId": "s", "configId": "mode", "type": "id", "value": "wild"}
    stage.agent_answers(3, {"configOptions": [{**MODE, "currentValue": "wild"}]})
    news, told = stage.heard_by_client
    assert news["params"]["update"]["configOptions"] == [in_v1(MODE, currentValue="wild")]
    assert told == answer(3, {})


def test_a_session_without_modes_cannot_change_them() -> None:
    stage = Stage(open=True, configOptions=[SWITCH])
    stage.client(3, "session/set_mode", sessionId="s", modeId="wild")
    assert stage.heard_by_agent == []
    assert stage.heard_by_client[0]["error"]["code"] == -32601


def test_a_changed_mode_is_told_to_those_who_look_at_options_and_to_those_who_look_at_modes() -> None:
    stage = Stage(open=True, configOptions=[MODE])
    stage.updates("config_option_update", configOptions=[{**MODE, "currentValue": "wild"}])
    stage.updates("config_option_update", configOptions=[{**MODE, "currentValue": "wild"}, SWITCH])
    assert [update["sessionUpdate"] for update in stage.shown] == [
        "config_option_update",
        "current_mode_update",
        "config_option_update",
    ]


def test_a_switch_is_a_choice_of_two_for_clients_that_know_no_switches() -> None:
    stage = Stage(open=True, configOptions=[SWITCH])
    stage.client(3, "session/set_config_option", sessionId="s", configId="loud", value="false")
    (asked,) = stage.heard_by_agent
    assert asked["params"] == {"sessionId": "s", "configId": "loud", "type": "boolean", "value": False}
    stage.agent_answers(3, {"configOptions": [{**SWITCH, "currentValue": False}]})
    (option,) = stage.heard_by_client[0]["result"]["configOptions"]
    assert (option["type"], option["currentValue"]) == ("select", "false")
    assert stage.repairs == ["a switch among the config options"]


def test_a_client_that_knows_switches_gets_them() -> None:
    stage = Stage(
        open=True, capabilities={"session": {"configOptions": {"boolean": {}}}}, configOptions=[SWITCH]
    )
    stage.client(3, "session/set_config_option", sessionId="s", configId="loud", type="boolean", value=False)
    assert stage.heard_by_agent[0]["params"]["value"] is False
    stage.agent_answers(3, {"configOptions": [SWITCH]})
    assert stage.heard_by_client[0]["result"]["configOptions"] == [in_v1(SWITCH)]
    assert stage.repairs == []
