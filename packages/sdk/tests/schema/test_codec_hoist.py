"""Unknown fields are put back into the object they came from."""

from __future__ import annotations

from dragoman.schema import Unknown, UnknownFields, v1
from dragoman.schema.codec import hoist


def test_a_known_field_wins_over_an_unknown_one_of_the_same_name() -> None:
    text = v1.TextContent(
        text="mine", unknown_fields=UnknownFields({"text": "theirs", "type": "x", "new": 1})
    )
    found = hoist(text)
    assert {name: found[name] for name in ("type", "text")} == {"type": "text", "text": "mine"}
    assert bytes(found["new"]) == b"1"


def test_absent_fields_stay_absent_and_null_stays_null() -> None:
    update = v1.SessionInfoUpdate(title=None, unknown_fields=UnknownFields({}))
    assert hoist(update) == {"sessionUpdate": "session_info_update", "title": None}


def test_lists_mappings_and_unknown_members_are_walked() -> None:
    unknown = Unknown("x", b'{"type":"x"}')
    inner = v1.TextContent(text="t")
    assert hoist([unknown, {"key": inner}]) == [unknown, {"key": {"type": "text", "text": "t"}}]
