"""Our names are found however they are spelled, and taken out of `_meta` alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema.own_names import MOST_VALUES, UNREADABLE, may_hold, stripped

TEXTS = st.sampled_from(["dragoman", "dragoman/dialect", "_meta", "vendor", "rawInput", "x"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(0, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def names_in(value: Any) -> list[str]:
    """Those of ours in a `_meta`, beside what a tool got."""
    if isinstance(value, list):
        return [name for item in value for name in names_in(item)]
    if not isinstance(value, dict):
        return []
    meta = value.get("_meta")
    found = [name for name in meta if name.startswith("dragoman")] if isinstance(meta, dict) else []
    return found + [name for key, item in value.items() if key != "rawInput" for name in names_in(item)]


def without(value: Any) -> Any:
    """The value without our names, by a second way."""
    if isinstance(value, list):
        return [without(item) for item in value]
    if not isinstance(value, dict):
        return value
    rest = {}
    for name, item in value.items():
        if name == "_meta" and isinstance(item, dict):
            cleaned = {key: inner for key, inner in item.items() if not key.startswith("dragoman")}
            if cleaned or not item:
                rest[name] = without(cleaned)
        else:
            rest[name] = item if name == "rawInput" else without(item)
    return rest


@given(VALUES, st.booleans())
def test_what_is_stripped_has_none_of_our_names_and_all_else(value: Any, is_escaped: bool) -> None:
    text = json.dumps(value)
    spelled = text.replace("dragoman", "d\\u0072agoman") if is_escaped else text
    if names_in(value):
        assert may_hold(spelled.encode())
    result = json.loads(stripped(spelled.encode()))
    assert result == without(value)
    assert not names_in(result)


@pytest.mark.parametrize("number", ["1.5e-07", "100000000000000000000000", "1.0E+2"])
def test_a_text_without_our_names_stays_as_it_is_to_the_byte(number: str) -> None:
    text = b'{"text": "\\u007f \\"dragoman\\"", "n": %b}' % number.encode()
    assert may_hold(text)
    assert stripped(text) == text


def test_a_line_of_brackets_is_not_read() -> None:
    text = b'["dragoman"' + b",[]" * MOST_VALUES + b"]"
    with pytest.raises(UNREADABLE):
        stripped(text)
