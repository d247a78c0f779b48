"""Version 2: shapes and whole lists."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update
from tests.check.rules.test_version2 import GOOD, second
from tests.every import every

TEXT = {"type": "text", "text": "x"}
COMMAND = {"type": "command", "name": "web", "description": "x"}
OPTION: dict[str, Any] = {
    "configId": "mode",
    "name": "Mode",
    "type": "select",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}],
}
OTHER = {**OPTION, "configId": "model"}


def told(*frames: Said) -> Talk:
    return second().add(*frames)


UPDATES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "UPD-02",
        "agent_message_chunk",
        {"messageId": "m", "content": TEXT},
        {"messageId": "m", "content": [TEXT]},
    ),
    ("UPD-02", "user_message_chunk", {"messageId": "m", "content": TEXT}, {"content": TEXT}),
    ("TURN-08", "agent_thought", {"messageId": "m"}, {"messageId": 5}),
    ("UPD-06", "notice", {"severity": "info", "title": "x"}, {"severity": "info"}),
    ("UPD-11", "compaction_update", {"compactionId": "c", "status": "completed"}, {"status": "completed"}),
    ("TURN-13", "usage_update", {"used": 1, "size": 2}, {"used": -1, "size": 2}),
    ("TURN-14", "usage_update", {"used": 1, "size": 2}, {"used": 0, "size": 0}),
    ("LST-14", "session_info_update", {"title": None}, {"title": "x", "cwd": "/w"}),
    (
        "CMD-02",
        "available_commands_update",
        {"availableCommands": [COMMAND]},
        {"availableCommands": [{"name": "x"}]},
    ),
    (
        "CMD-07",
        "available_commands_update",
        {"availableCommands": [COMMAND]},
        {"availableCommands": [{**COMMAND, "name": "/web"}]},
    ),
    (
        "CFG-05",
        "config_option_update",
        {"configOptions": [OPTION]},
        {"configOptions": [{"configId": "mode"}]},
    ),
    (
        "CFG-07",
        "config_option_update",
        {"configOptions": [OPTION]},
        {"configOptions": [{**OPTION, "currentValue": "c"}]},
    ),
]


@every(("requirement", "kind", "right", "wrong"), UPDATES)
def test_updates_have_their_shapes(
    requirement: str, kind: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    keeps(requirement, told(update("s", kind, **right)))
    breaks(requirement, told(update("s", kind, **wrong)))


def test_upd_01_an_update_names_its_session_and_kind() -> None:
    keeps("UPD-01", told(says("s", "x", messageId="m")))
    breaks("UPD-01", told(agent("session/update", {"update": {"sessionUpdate": "notice"}})))
    breaks("UPD-01", told(agent("session/update", {"sessionId": "s", "update": {}})))


def test_turn_08_a_prompt_is_acknowledged_with_an_id() -> None:
    keeps("TURN-08", GOOD)
    breaks("TURN-08", second().begin_prompt("s", "x").answer({"stopReason": "end_turn"}))


ANSWERS: list[tuple[str, str, Any, Any]] = [
    ("LST-03", "session/list", {"sessions": []}, {}),
    (
        "LST-06",
        "session/list",
        {"sessions": [{"sessionId": "s", "cwd": "/w"}]},
        {"sessions": [{"sessionId": "s"}]},
    ),
    ("RES-06", "session/resume", {"configOptions": []}, []),
    ("CLO-04", "session/close", {}, "closed"),
    ("DEL-04", "session/delete", {}, [1]),
]


@every(("requirement", "method", "right", "wrong"), ANSWERS)
def test_answers_have_their_shapes(requirement: str, method: str, right: Any, wrong: Any) -> None:
    params = {"sessionId": "s", "cwd": "/w"}
    keeps(requirement, second().begin(method, params).answer(right))
    breaks(requirement, second().begin(method, params).answer(wrong))
    says_nothing(requirement, second().begin(method, params).answer(code=-32603))


def options(*listed: Any) -> Said:
    return update("s", "config_option_update", configOptions=list(listed))


def test_cfg_16_and_17_lists_of_options_are_whole() -> None:
    def changed(*listed: Any) -> Talk:
        params = {"sessionId": "s", "configId": "mode", "type": "id", "value": "b"}
        talk = second().add(options(OPTION, OTHER))
        return talk.call("session/set_config_option", params, {"configOptions": list(listed)})

    keeps("CFG-16", changed(OPTION, OTHER))
    keeps("CFG-16", changed(OPTION))  # options may go
    breaks("CFG-16", changed(OPTION).add(options(OPTION, OTHER)))
    breaks("CFG-16", changed())
    keeps("CFG-17", told(options(OPTION, OTHER), options(OPTION, OTHER)))
    breaks("CFG-17", told(options(OPTION, OTHER), options(OTHER), options(OPTION, OTHER)))


def test_cfg_14_a_change_has_a_type() -> None:
    params = {"sessionId": "s", "configId": "mode", "value": "b"}
    keeps("CFG-14", second().call("session/set_config_option", {**params, "type": "id"}), "client")
    breaks("CFG-14", second().call("session/set_config_option", params), "client")
    says_nothing("CFG-14", second().call("session/set_config_option", params, code=-32602), "client")
