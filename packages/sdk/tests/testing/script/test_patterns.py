from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.script.patterns import fill, matches
from tests.every import every

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_characters="$*")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(json_values)
def test_a_value_without_signs_matches_itself(value: Any) -> None:
    assert matches(value, value, {})
    assert fill(value, {}) == value


@every(
    ("pattern", "value", "fits"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": {"b": "x*"}}, {"a": {"b": "xyz"}}, True),
        ({}, [], False),
        ([1, 2], [1, 2], True),
        ([1], [1, 2], False),
        ([1, "..."], [1, 2, 3], True),
        (["..."], [], True),
        ([1, "..."], [], False),
        ("a*c", "abbc", True),
        ("a*c", "ab\nc", True),
        ("a*c", "abcd", False),
        ("a.c", "abc", False),
        ("*", 1, False),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (None, None, True),
        (None, 0, False),
        ("$_", {"any": "thing"}, True),
        ("1", 1, False),
    ],
)
def test_patterns(pattern: Any, value: Any, fits: bool) -> None:
    assert matches(pattern, value, {}) is fits


def test_a_name_takes_the_first_value_and_demands_it_afterwards() -> None:
    names: dict[str, Any] = {}
    assert matches({"a": "$x", "b": "$x"}, {"a": 5, "b": 5}, names)
    assert names == {"x": 5}
    assert not matches("$x", 6, names)
    assert not matches("$x", "5", names)
    assert not matches("$x", 5.0, names)


def test_names_in_longer_text_are_filled_in_first() -> None:
    assert matches("to $who: *", "to me: hello", {"who": "me"})
    assert not matches("to $who: *", "to you: hello", {"who": "me"})


def test_a_name_in_longer_text_takes_text() -> None:
    names: dict[str, Any] = {}
    assert matches("flood $count $size", "flood 5 10", names)
    assert names == {"count": "5", "size": "10"}
    assert not matches("flood $n $m", "flood 5", {})
    assert not matches("say $what", "say ", {})
    assert matches("$a-$a", "x-x", {})
    assert not matches("$a-$a", "x-y", {})
    assert matches("cost: $$$price", "cost: $5", names)
    assert names["price"] == "5"


def test_what_a_name_stands_for_is_no_pattern() -> None:
    assert matches("say $it", "say *.(", {"it": "*.("})
    assert not matches("say $it", "say x", {"it": "*"})


def test_text_that_does_not_match_gives_no_names() -> None:
    names: dict[str, Any] = {}
    assert not matches("a $x b", "a 1 c", names)
    assert names == {}


def test_filling_keeps_the_type_of_a_name_that_stands_alone() -> None:
    names = {"id": 7, "who": "me", "it": {"a": [1]}}
    assert fill(["$id", "$who", "$it", "id $id for $who", "$$id", "$unknown", "5$"], names) == [
        *(7, "me", {"a": [1]}, "id 7 for me", "$id", "$unknown", "5$"),
    ]
