"""Leniency, table-driven from the schema's own annotations: what is marked heals, what is not fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec import UNSET

from dragoman.schema import SchemaError, examine, read, v1
from tests.every import every

from .instances import Maker
from .published_schemas import THROUGH_UNION, Judge, Schema, definitions, needs_schemas, readable, type_of

ON_ERROR = "x-deserialize-default-on-error"
SKIP_ITEMS = "x-deserialize-skip-invalid-items"
ON_NULL = "x-deserialize-default-on-null"
WRONG: tuple[Any, ...] = (17, "wrong", {"wrong": 1}, ["wrong"], True, None)


class Case(NamedTuple):
    """One declared field of one object, and a valid object to spoil."""

    version: str
    definition: str
    wire: str
    field: Schema
    required: bool
    kind: Any
    value: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.version}-{self.definition}.{self.wire}"

    def spoiled(self, bad: Any) -> bytes:
        return json.dumps({**self.value, self.wire: bad}).encode()

    def without(self) -> bytes:
        return json.dumps({name: item for name, item in self.value.items() if name != self.wire}).encode()


def cases() -> Iterator[Case]:
    for version in ("v1", "v2"):
        known = definitions(version)
        for definition in [*readable(version), *THROUGH_UNION] if known else ():
            union = THROUGH_UNION.get(definition)
            value = _object_of(known, definition, union)
            kind = type_of(version, union or definition)
            for wire, field in known[definition].get("properties", {}).items():
                if isinstance(value, dict) and wire in value:
                    required = wire in known[definition].get("required", ())
                    yield Case(version, definition, wire, field, required, kind, value)


def _object_of(known: Schema, definition: str, union: str | None) -> Any:
    """A full object of the definition; where only its union reads it, the member that it becomes."""
    maker, schema = Maker(known, definition), known[union or definition]
    options = schema.get("oneOf") or schema.get("anyOf")
    if not options:
        return maker.full(schema)
    named = (option for option in options if union and definition in json.dumps(option.get("allOf", "")))
    return maker.chosen(schema, next(named, options[0]), full=True)


def wrong_values(case: Case) -> list[Any]:
    """Values that the schema does not allow for the field, by kind of JSON value."""
    judge = Judge(definitions(case.version))
    wrong = [bad for bad in WRONG if not judge.accepts(case.field, bad) and not is_new_text(case, bad)]
    return [bad for bad in wrong if not (SKIP_ITEMS in case.field and isinstance(bad, list))]


def is_new_text(case: Case, bad: Any) -> bool:
    """An unknown string for an enumeration is not an error for us: it survives as it is."""
    target = Maker(definitions(case.version), "").resolved(case.field)
    options = [*target.get("oneOf", ()), *target.get("anyOf", ())]
    resolved = [Maker(definitions(case.version), "").resolved(option) for option in options]
    inner = [part for option in resolved for part in option.get("oneOf", ())]
    return isinstance(bad, str) and any("const" in option for option in [*options, *inner])


CASES = list(cases())
MARKED = [case for case in CASES if ON_ERROR in case.field]
LISTS = [case for case in CASES if SKIP_ITEMS in case.field]
NULLABLE = [case for case in CASES if ON_NULL in case.field]
STRICT = [case for case in CASES if ON_ERROR not in case.field]
REQUIRED = [case for case in CASES if case.required]


def attribute(message: Any, wire: str) -> Any:
    names = dict(zip(message.__struct_encode_fields__, message.__struct_fields__, strict=True))
    return getattr(message, names[wire])


@needs_schemas
def test_the_tables_are_as_long_as_the_schema_says() -> None:
    """If reading the annotations broke, the tests below would pass over nothing."""
    assert len(MARKED) > 500
    assert len(LISTS) > 40
    assert len(NULLABLE) > 25
    assert len(STRICT) > 300


@needs_schemas
@every("case", MARKED, ids=str)
def test_a_bad_value_of_a_marked_field_counts_as_absent(case: Case) -> None:
    for bad in wrong_values(case):
        message, deviations = examine(case.spoiled(bad), case.kind)
        assert attribute(message, case.wire) == ([] if case.required else UNSET)
        assert (f"$.{case.wire}", "bad value") in [deviation[:2] for deviation in deviations]


@needs_schemas
@every("case", LISTS, ids=str)
def test_bad_items_vanish_and_good_ones_stay(case: Case) -> None:
    good = case.value[case.wire]
    message, deviations = examine(case.spoiled([17.5, *good, {"wrong": 1}]), case.kind)
    clean = read(case.spoiled(good), case.kind)
    assert good
    assert attribute(message, case.wire) == attribute(clean, case.wire)
    assert (f"$.{case.wire}[0]", "bad item") in [deviation[:2] for deviation in deviations]


@needs_schemas
@every("case", NULLABLE, ids=str)
def test_null_counts_as_empty_where_the_schema_says_so(case: Case) -> None:
    message = read(case.spoiled(None), case.kind)
    assert attribute(message, case.wire) == type(case.value[case.wire])()


@needs_schemas
@every("case", STRICT, ids=str)
def test_a_bad_value_of_an_unmarked_field_fails_the_message(case: Case) -> None:
    for bad in wrong_values(case):
        if bad is None and ON_NULL in case.field:
            continue
        with pytest.raises(SchemaError) as caught:
            read(case.spoiled(bad), case.kind)
        assert caught.value.path.startswith("$")


@needs_schemas
@every("case", REQUIRED, ids=str)
def test_a_required_field_must_not_be_missing(case: Case) -> None:
    with pytest.raises(SchemaError, match=r"missing|needs"):
        read(case.without(), case.kind)


@needs_schemas
@every("case", [case for case in CASES if case.wire == "_meta"], ids=str)
def test_meta_is_read_as_it_is_and_bad_meta_is_dropped(case: Case) -> None:
    meta = {"example.org/a": [1, None], "": {"nested": True}}
    assert attribute(read(case.spoiled(meta), case.kind), "_meta") == meta
    assert attribute(read(case.spoiled(None), case.kind), "_meta") is None
    assert attribute(read(case.spoiled("no object"), case.kind), "_meta") is UNSET


def test_the_mode_of_the_modes_page_is_read_too() -> None:
    raw = b'{"sessionUpdate":"current_mode_update","modeId":"ask"}'
    message, deviations = examine(raw, v1.SessionUpdate)
    assert message == v1.CurrentModeUpdate(current_mode_id="ask")
    assert deviations == [("$", "other name", "modeId")]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    raw = b'{"sessionId":"s","path":"/a","line":3.0,"limit":1e2}'
    message = read(raw, v1.ReadTextFileRequest)
    assert (message.line, message.limit) == (3, 100)
    assert type(message.line) is int
    with pytest.raises(SchemaError, match="expected integer, got number"):
        read(b'{"sessionId":"s","path":"/a","line":3.5}', v1.ReadTextFileRequest)
    with pytest.raises(SchemaError, match="unexpected number"):
        read(b'{"requestId":1.0}', v1.CancelRequestNotification)


def test_the_schemas_name_wins_over_the_other_one() -> None:
    raw = b'{"sessionUpdate":"current_mode_update","modeId":"a","currentModeId":"b"}'
    message = read(raw, v1.SessionUpdate)
    assert message.current_mode_id == "b"
    assert message.unknown_fields == {"modeId": "a"}


def test_unknown_string_formats_are_kept() -> None:
    raw = b'{"type":"string","format":"_zip"}'
    assert read(raw, v1.ElicitationPropertySchema) == v1.StringPropertySchema(format="_zip")  # type: ignore[arg-type]


@every("raw", [None, b"", b"null", b"  ", b" null\n"])
def test_params_that_were_left_out_are_an_empty_object_where_nothing_is_required(raw: bytes | None) -> None:
    assert read(raw, v1.LogoutRequest) == v1.LogoutRequest()
    assert read(raw, v1.WriteTextFileResponse) == v1.WriteTextFileResponse()
    with pytest.raises(SchemaError, match="sessionId: is missing"):
        read(raw, v1.CloseSessionRequest)


def test_null_is_no_object_further_down() -> None:
    with pytest.raises(SchemaError, match="toolCall: expected object, got null"):
        read(b'{"sessionId":"s","options":[],"toolCall":null}', v1.RequestPermissionRequest)


def test_integers_between_63_and_64_bits_are_read() -> None:
    raw = b'{"sessionUpdate":"usage_update","used":18446744073709551615,"size":9223372036854775808}'
    assert read(raw, v1.SessionUpdate) == v1.UsageUpdate(used=2**64 - 1, size=2**63)


@every("number", [b"18446744073709551616", b"-1", b"1.5", b"1e-3", b"1e300", b"true", b'"1"', b"9" * 5000])
def test_numbers_out_of_their_range_or_kind_fail(number: bytes) -> None:
    with pytest.raises(SchemaError, match=r"\$\.used: "):
        read(b'{"sessionUpdate":"usage_update","size":1,"used":' + number + b"}", v1.SessionUpdate)


def test_deviations_inside_something_that_was_dropped_are_not_reported() -> None:
    bad, good = b'{"content":1,"new":2}', b'{"content":"a","priority":"low","status":"done","x":1}'
    raw = b'{"sessionUpdate":"plan","entries":[' + bad + b"," + good + b"]}"
    message, deviations = examine(raw, v1.SessionUpdate)
    assert len(message.entries) == 1
    assert deviations == [("$.entries[0]", "bad item", ""), ("$.entries[1]", "unknown field", "x")]
