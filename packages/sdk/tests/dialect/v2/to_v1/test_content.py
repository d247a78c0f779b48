"""Content blocks of v2 in v1."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v1.content import block, blocks
from tests.dialect.v2.to_v1.told import Told
from tests.every import every

TEXT = {"type": "text", "text": "hi"}
SAME: list[dict[str, Any]] = [
    TEXT,
    {**TEXT, "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"k": 1}},
    {"type": "image", "data": "aGk=", "mimeType": "image/png", "uri": "file:///i"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/ogg"},
    {"type": "resource_link", "name": "n", "uri": "file:///n", "size": 3, "title": None},
    {"type": "resource", "resource": {"uri": "file:///n", "text": "x"}},
    {"type": "resource", "resource": {"uri": "file:///n", "blob": "eA==", "mimeType": "a/b"}},
]


@every("value", SAME, ids=lambda value: value["type"])
def test_what_both_versions_know_stays_as_it_is(value: dict[str, Any]) -> None:
    told = Told()
    assert block(value, told) == value
    assert told.losses == []


def test_a_plain_text_is_the_same_object() -> None:
    assert block(TEXT, Told()) is TEXT


def test_a_type_that_v1_does_not_know_is_a_text_with_its_original() -> None:
    told, value = Told(), {"type": "_smell", "of": "fish", "token": "t"}
    found = block(value, told)
    assert found is not None
    assert (found["type"], "_smell" in found["text"]) == ("text", True)
    assert found["_meta"]["dragoman/dialect"]["raw"] == {"type": "_smell", "of": "fish"}  # and no secret
    assert told.losses == ["content of a type that v1 does not know"]


def test_icons_and_strange_audiences_are_left_out() -> None:
    told = Told()
    link = {"type": "resource_link", "name": "n", "uri": "file:///n"}
    value = {**link, "icons": [{"src": "x"}], "annotations": {"audience": ["user", "_crowd"]}}
    assert block(value, told) == {**link, "annotations": {"audience": ["user"]}}
    assert told.losses == ["an audience that v1 does not know", "icons of a link"]


def test_members_of_the_wrong_kind_are_left_out_and_unknown_ones_stay() -> None:
    value = {**TEXT, "annotations": 5, "_meta": "x", "mood": "calm"}
    assert block(value, Told()) == {**TEXT, "mood": "calm"}
    assert block({**TEXT, "annotations": None}, Told()) == TEXT


@every(
    "value",
    [
        None,
        "text",
        {},
        {"type": 5},
        {"type": "text", "text": 5},
        {"type": "image", "data": "x"},
        {"type": "resource", "resource": {"uri": "file:///n"}},
        {"type": "resource", "resource": {"text": "x"}},
    ],
)
def test_what_is_no_content_is_none(value: Any) -> None:
    told = Told()
    assert block(value, told) is None
    assert told.losses == ["malformed content"]


def test_a_list_goes_on_without_those_that_are_none() -> None:
    assert blocks([TEXT, 5, TEXT], Told()) == [TEXT, TEXT]
    assert blocks("text", Told()) == []
