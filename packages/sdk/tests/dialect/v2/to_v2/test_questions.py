"""Forms of v1 in v2; permissions are tried where they are asked."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.v2.to_v2.questions import elicitation, schema
from dragoman.schema.v2 import ElicitationSchema
from tests.dialect.v2.to_v2.judge import is_v2, make_writer
from tests.every import every

FIELDS: dict[str, Any] = {
    "name": {"type": "string", "title": "Name", "minLength": 1, "format": "email"},
    "age": {"type": "integer", "minimum": 0},
    "ok": {"type": "boolean", "default": False},
    "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
    "tags": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
    "mood": {"type": "_mood"},
}


def test_a_form_stays_as_it_is() -> None:
    form = {"type": "object", "properties": FIELDS, "required": ["name"], "title": "You"}
    writer, noted = make_writer()
    assert schema(form, writer) == form
    assert noted == set()
    assert is_v2(form, ElicitationSchema)


@every(
    ("given", "made", "remark"),
    [
        ({"type": "string", "enum": []}, {"type": "string"}, "an empty list of choices in a form"),
        ({"type": "array", "items": {"enum": []}}, None, "an empty list of choices in a form"),
        ({"type": "string", "minLength": -1}, None, "a value that breaks v1's own rules"),
        ({"type": "string", "title": 3, "default": None}, {"type": "string"}, None),
        ({"title": "no type"}, None, "a value that breaks v1's own rules"),
        (3, None, "a value that breaks v1's own rules"),
    ],
)
def test_a_field_that_v2_would_not_take_is_left_out_or_mended(
    given: Any, made: Any, remark: str | None
) -> None:
    writer, noted = make_writer()
    form = schema({"type": "object", "properties": {"x": given}, "required": ["x"]}, writer)
    assert form["properties"] == ({} if made is None else {"x": made})
    assert form["required"] == ([] if made is None else ["x"])
    assert (remark in noted) if remark else not noted
    assert is_v2(form, ElicitationSchema)


@pytest.mark.parametrize("given", [{}, {"type": "array"}, {"properties": None, "required": 3}])
def test_a_form_says_that_it_is_one(given: dict[str, Any]) -> None:
    writer, noted = make_writer()
    assert schema(given, writer) == {"type": "object", "properties": {}}
    assert "a form without its type or properties" in noted


def test_a_question_without_words_is_none() -> None:
    assert elicitation({"mode": "form"}, make_writer()[0]) is None
    assert (
        elicitation({"mode": "url", "message": "Go", "url": "https://example.org"}, make_writer()[0]) is None
    )
    assert elicitation({"mode": "_voice", "message": "Go"}, make_writer()[0]) == {
        "mode": "_voice",
        "message": "Go",
    }
