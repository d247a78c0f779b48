"""The members of a tool call of v2 in v1."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.v2.to_v1.tool_calls import changes, contents, fallback_title, locations, terminals
from tests.dialect.v2.to_v1.told import Told
from tests.every import every


def shown(terminal_id: str) -> str:
    return f"<{terminal_id}>"


def test_locations_keep_what_is_right_about_them() -> None:
    value = [
        {"path": "/a", "line": 3},
        {"path": "/b", "line": 0},
        {"path": "/c", "line": "x"},
        {"line": 1},
        5,
    ]
    assert locations(value, Told()) == [{"path": "/a", "line": 3}, {"path": "/b"}, {"path": "/c"}]


def test_a_diff_names_its_files_as_locations_unless_there_are_some() -> None:
    item = {"type": "diff", "changes": [{"operation": "delete", "path": "/a"}]}
    assert changes({"content": [item]}, shown, Told())["locations"] == [{"path": "/a"}]
    assert changes({"content": [item], "locations": []}, shown, Told())["locations"] == []


def test_a_terminal_is_text_and_can_be_told_from_others() -> None:
    told = Told()
    (item,) = contents([{"type": "terminal", "terminalId": "t"}], shown, told)
    assert item["content"]["text"] == "<t>"
    assert item["_meta"]["dragoman/dialect"]["raw"] == {"type": "terminal", "terminalId": "t"}
    assert told.repairs == ["a terminal of the agent"]
    assert terminals([{"type": "terminal", "terminalId": "t"}, {"type": "diff"}, 5]) == ["t"]


def test_an_item_of_an_unknown_type_is_a_text() -> None:
    told = Told()
    (item,) = contents([{"type": "_song", "notes": 3}, {"type": "content", "content": 5}, "x"], shown, told)
    assert item["content"]["type"] == "text"
    assert sorted(set(told.losses)) == ["content of a type that v1 does not know", "malformed content"]


@every(
    ("fields", "found"),
    [
        ({"kind": "read"}, {"kind": "read"}),
        ({"kind": None}, {"kind": "other"}),
        ({"status": None}, {"status": "pending"}),
        ({"rawInput": 0, "extra": 1}, {"rawInput": 0, "extra": 1}),
        ({"capabilities": {}}, {}),
    ],
)
def test_members(fields: dict[str, Any], found: dict[str, Any]) -> None:
    told = Told()
    assert changes(fields, shown, told) == found
    assert told.losses == []


@pytest.mark.parametrize("kind", ["_peck", 5, ["read"]])
def test_a_kind_of_its_own_is_other(kind: Any) -> None:
    told = Told()
    found = changes({"kind": kind}, shown, told)
    assert found["kind"] == "other"
    assert found["_meta"]["dragoman/dialect"]["raw"] == {"kind": kind}
    assert told.losses == ["a kind of tool that v1 does not know"]


def test_a_title_is_found_somewhere() -> None:
    assert fallback_title({"title": "", "name": "n", "kind": "k"}) == "n"
    assert fallback_title({}) == "Tool call"


def test_what_is_left_out_is_named() -> None:
    told = Told()
    assert changes({"title": 5, "name": [], "capabilities": {"cancel": {}}}, shown, told) == {}
    assert told.losses == ["that a tool call can be cancelled alone", "a member of the wrong kind"]
