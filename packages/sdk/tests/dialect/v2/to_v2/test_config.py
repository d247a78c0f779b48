"""Config options and modes of v1 in v2."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v2.config import mode_option, option, options, values
from dragoman.schema.v2 import SessionConfigOption
from tests.dialect.v2.to_v2.judge import is_v2, make_writer
from tests.every import every

CHOICES = [{"value": "a", "name": "A", "description": "The first"}, {"value": "b", "name": "B"}]
SELECT = {"id": "x", "type": "select", "name": "X", "currentValue": "b", "options": CHOICES}


def test_an_option_has_its_id_under_another_name() -> None:
    made = option({**SELECT, "category": "model", "description": None}, make_writer()[0])
    assert made == {
        "configId": "x",
        "type": "select",
        "name": "X",
        "currentValue": "b",
        "options": CHOICES,
        "category": "model",
    }
    assert is_v2(made, SessionConfigOption)


def test_groups_have_their_ids_under_another_name() -> None:
    grouped = [
        {"group": "g", "name": "G", "options": CHOICES},
        {"group": "empty", "name": "E", "options": []},
    ]
    made = option({**SELECT, "options": grouped}, make_writer()[0])
    assert made is not None
    assert made["options"] == [{"groupId": "g", "name": "G", "options": CHOICES}]
    assert values(made) == ["a", "b"]
    assert is_v2(made, SessionConfigOption)


@every(
    ("value", "remark"),
    [
        ({**SELECT, "options": []}, "a config option without choices, or whose value is none of them"),
        ({**SELECT, "currentValue": "c"}, "a config option without choices, or whose value is none of them"),
        ({**SELECT, "options": [{"value": 3, "name": "C"}]}, "a value that breaks v1's own rules"),
        ({**SELECT, "name": None}, "a value that breaks v1's own rules"),
        (
            {"id": "x", "type": "boolean", "name": "X", "currentValue": "yes"},
            "a value that breaks v1's own rules",
        ),
        ({"type": "_slider"}, "a value that breaks v1's own rules"),
        (3, "a value that breaks v1's own rules"),
    ],
)
def test_an_option_that_cannot_be_offered_is_left_out(value: Any, remark: str) -> None:
    writer, noted = make_writer()
    assert option(value, writer) is None
    assert remark in noted


def test_each_option_is_offered_once_and_unknown_types_pass() -> None:
    slider = {"id": "s", "type": "_slider", "name": "S", "currentValue": 3}
    boolean = {"id": "y", "type": "boolean", "name": "Y", "currentValue": True}
    made = options([SELECT, {**SELECT, "name": "again"}, slider, boolean], make_writer()[0])
    assert [(one["configId"], one["currentValue"]) for one in made] == [("x", "b"), ("s", 3), ("y", True)]
    assert options("none", make_writer()[0]) == []


def test_modes_become_a_choice() -> None:
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask", "description": None}]}
    writer, noted = make_writer()
    made = mode_option(modes, {"mode"}, writer)
    assert made == {
        "configId": "session-mode",
        "type": "select",
        "name": "Mode",
        "category": "mode",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask"}],
    }
    assert noted == {"session modes"}
    assert mode_option({"currentModeId": "gone", "availableModes": []}, set(), writer) is None
