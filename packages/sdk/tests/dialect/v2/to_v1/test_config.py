"""Config options of v2 in v1, and the modes among them."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v1.config import choice, mode_option, modes, options, switches
from tests.dialect.v2.to_v1.told import Told
from tests.every import every

CALM = {"value": "calm", "name": "Calm"}
SELECT = {"type": "select", "configId": "c", "name": "C", "currentValue": "calm", "options": [CALM]}
SWITCH = {"type": "boolean", "configId": "b", "name": "B", "currentValue": False}


def test_ids_and_groups_have_other_names() -> None:
    grouped = {
        **SELECT,
        "options": [
            {"groupId": "g", "name": "G", "options": [CALM, {"value": 5}]},
            {"name": "x", "options": []},
        ],
    }
    (option,) = options([grouped], booleans=True, report=Told())
    assert option["id"] == "c"
    assert option["options"] == [{"group": "g", "name": "G", "options": [CALM]}]


def test_a_switch_is_a_choice_of_two_if_it_has_to_be() -> None:
    told = Told()
    (option,) = options([SWITCH], booleans=False, report=told)
    assert (option["type"], option["currentValue"]) == ("select", "false")
    assert [entry["value"] for entry in option["options"]] == ["true", "false"]
    assert switches([SWITCH, SELECT, 5]) == {"b"}
    assert options([SWITCH], booleans=True, report=told)[0]["type"] == "boolean"


@every(
    ("option", "lost"),
    [
        ({**SELECT, "type": "_dial"}, "a config option of a type that v1 does not know"),
        (5, "a config option of a type that v1 does not know"),
        ({**SELECT, "currentValue": True}, "a malformed config option"),
        ({**SWITCH, "currentValue": "true"}, "a malformed config option"),
        ({**SELECT, "name": None}, "a malformed config option"),
        ({**SELECT, "options": [{"name": "x"}]}, "a malformed config option"),
    ],
)
def test_what_is_no_option_of_v1_is_named(option: Any, lost: str) -> None:
    told = Told()
    assert options([option], booleans=True, report=told) == []
    assert told.losses == [lost]


def test_modes_are_the_first_select_of_their_category() -> None:
    mode = {
        **SELECT,
        "category": "mode",
        "options": [{"groupId": "g", "name": "G", "options": [{**CALM, "description": "still"}]}],
    }
    found = options([SELECT, {**SWITCH, "category": "mode"}, mode], booleans=True, report=Told())
    assert modes(found) == {
        "currentModeId": "calm",
        "availableModes": [{"id": "calm", "name": "Calm", "description": "still"}],
    }
    assert modes([]) is None
    assert mode_option(options([SELECT], booleans=True, report=Told())) is None


@every(
    ("value", "found"),
    [
        ("calm", {"type": "id", "value": "calm"}),
        (True, {"type": "boolean", "value": True}),
        ("true", {"type": "boolean", "value": True}),
        ("maybe", {"type": "id", "value": "maybe"}),
    ],
)
def test_a_choice_says_what_it_is(value: Any, found: dict[str, Any]) -> None:
    assert choice({"configId": "b", "value": value}, {"b"}) == {"configId": "b", **found}


def test_the_word_true_is_only_a_switch_where_there_is_one() -> None:
    assert choice({"configId": "c", "value": "true"}, {"b"})["type"] == "id"
    assert choice({"configId": ["b"], "value": "true"}, {"b"})["type"] == "id"
