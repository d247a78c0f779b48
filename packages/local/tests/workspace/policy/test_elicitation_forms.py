from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema import v1
from dragoman_local.workspace.policy.elicitation import (
    BadFormValue,
    cautions,
    check_value,
    choices_of,
    looks_secret,
    parse_line,
)
from tests.every import every

TEXT = v1.StringPropertySchema()
WHOLE = v1.IntegerPropertySchema(minimum=1, maximum=9)
NUMBER = v1.NumberPropertySchema(minimum=0.5)
FLAG = v1.BooleanPropertySchema()
COLOUR = v1.StringPropertySchema(enum=["red", "blue", "3"])
SIZE = v1.StringPropertySchema(
    one_of=[v1.EnumOption(const="s", title="Small"), v1.EnumOption(const="l", title="Large")]
)
MANY = v1.MultiSelectPropertySchema(
    items=v1.StringMultiSelectItems(enum=["a", "b", "c"]), min_items=1, max_items=2
)


def formatted(name: str) -> v1.StringPropertySchema:
    return v1.StringPropertySchema(format=name)  # type: ignore[arg-type]


def never(pattern: str, text: str) -> bool | None:
    return {"yes": True, "no": False}.get(pattern)


@every(
    ("field", "value"),
    [
        (TEXT, ""),
        (WHOLE, 9),
        (NUMBER, 0.5),
        (NUMBER, 2),
        (FLAG, False),
        (COLOUR, "red"),
        (SIZE, "l"),
        (MANY, ["c", "a"]),
        (v1.StringPropertySchema(min_length=2, max_length=2), "éé"),
        (v1.StringPropertySchema(pattern="yes"), "x"),
        (v1.StringPropertySchema(pattern="unknown"), "x"),
        (formatted("email"), "a.b@example.org"),
        (formatted("uri"), "https://example.org/x"),
        (formatted("date"), "2024-02-29"),
        (formatted("date-time"), "2024-02-29T10:00:00Z"),
        (formatted("_zip"), "anything"),
    ],
)
def test_a_value_that_a_field_takes(field: Any, value: Any) -> None:
    assert check_value(field, value, matches=never) == value


@every(
    ("field", "value"),
    [
        (TEXT, 5),
        (TEXT, None),
        (WHOLE, 0),
        (WHOLE, 10),
        (WHOLE, True),
        (WHOLE, 2.0),
        (WHOLE, "2"),
        (NUMBER, 0.4),
        (NUMBER, float("nan")),
        (NUMBER, float("inf")),
        (NUMBER, True),
        (NUMBER, 10**400),
        (v1.IntegerPropertySchema(), 2**63),
        (FLAG, "yes"),
        (FLAG, 1),
        (COLOUR, "green"),
        (SIZE, "Small"),
        (MANY, []),
        (MANY, ["a", "b", "c"]),
        (MANY, ["a", "a"]),
        (MANY, ["d"]),
        (MANY, "a"),
        (v1.StringPropertySchema(min_length=2), "x"),
        (v1.StringPropertySchema(max_length=1), "xx"),
        (v1.StringPropertySchema(pattern="no"), "x"),
        (formatted("email"), "nobody"),
        (formatted("uri"), "example"),
        (formatted("uri"), "http://[x"),
        (formatted("date"), "2023-02-29"),
        (formatted("date"), "20240229"),
        (formatted("date-time"), "2024-02-29"),
        (formatted("date-time"), "2024-02-29T10:00:00"),
    ],
)
def test_a_value_that_a_field_does_not_take(field: Any, value: Any) -> None:
    with pytest.raises(BadFormValue):
        check_value(field, value, matches=never)


@every(
    ("field", "line", "value"),
    [
        (TEXT, " as it is ", " as it is "),
        (WHOLE, " 7 ", 7),
        (WHOLE, "7.0", "7.0"),
        (NUMBER, "1e3", 1000.0),
        (NUMBER, "1_0", "1_0"),
        (NUMBER, "nan", "nan"),
        (COLOUR, "0000002", "0000002"),
        (FLAG, "Yes", True),
        (FLAG, "n", False),
        (FLAG, "maybe", "maybe"),
        (COLOUR, "2", "blue"),
        (COLOUR, "3", "3"),
        (COLOUR, "green", "green"),
        (SIZE, "1", "s"),
        (MANY, "1, c", ["a", "c"]),
        (MANY, "", []),
    ],
)
def test_a_typed_line_becomes_a_value_of_the_fields_type(field: Any, line: str, value: Any) -> None:
    assert parse_line(field, line) == value


@given(st.text(), st.sampled_from([TEXT, WHOLE, NUMBER, FLAG, COLOUR, SIZE, MANY]))
def test_any_line_is_a_value_or_is_not_taken(line: str, field: Any) -> None:
    try:
        value = check_value(field, parse_line(field, line), matches=never)
    except BadFormValue:
        return
    assert check_value(field, value, matches=never) == value


def test_choices_have_titles() -> None:
    assert list(choices_of(SIZE)) == [("s", "Small"), ("l", "Large")]
    titled = v1.MultiSelectPropertySchema(
        items=v1.TitledMultiSelectItems(any_of=[v1.EnumOption(const="x", title="X!")])
    )
    assert list(choices_of(titled)) == [("x", "X!")]


@every("name", ["password", "apiKey", "api_key", "Access token", "client-secret", "PIN"])
def test_fields_that_ask_for_secrets_are_noticed(name: str) -> None:
    assert looks_secret(name, TEXT)
    assert looks_secret("x", v1.StringPropertySchema(title=name))
    assert not looks_secret("branch", TEXT)


@every(
    ("url", "notes"),
    [
        ("https://example.org/", []),
        ("http://example.org/", ["not https but http"]),
        ("https://a@xn--b.example", ["look like other letters", "before the @"]),
        ("https://[", ["not a proper address"]),
    ],
)
def test_addresses_are_looked_at_before_they_are_opened(url: str, notes: list[str]) -> None:
    found = cautions(url)
    assert len(found) == len(notes)
    assert all(note in caution for note, caution in zip(notes, found, strict=True))
