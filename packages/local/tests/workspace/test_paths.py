"""Paths as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.paths import (
    LONGEST_NAME,
    MOST_NAMES,
    Route,
    join_names,
    names_below,
    parse,
    split_path,
)
from tests.every import every

names = st.lists(
    st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8), max_size=6
)


@every(
    ("path", "route"),
    [
        ("/", Route((), is_folder=True)),
        ("/a/b", Route(("a", "b"), is_folder=False)),
        ("//a/./b", Route(("a", "b"), is_folder=False)),
        ("/a/../b", Route(("a", "..", "b"), is_folder=False)),
        ("/a/", Route(("a",), is_folder=True)),
        ("/a/.", Route(("a",), is_folder=True)),
        ("/a/..", Route(("a", ".."), is_folder=True)),
        ("/a b/ü.txt", Route(("a b", "ü.txt"), is_folder=False)),
    ],
)
def test_a_path_is_cut_into_names(path: str, route: Route) -> None:
    assert parse(path) == route


@every(
    ("path", "why"),
    [
        ("a/b", "absolute"),
        ("", "absolute"),
        ("/a\0b", "NUL"),
        ("/\udfff\ud800", "half a character"),
        ("/" + "a" * (LONGEST_NAME + 1), "name in the path is too long"),
        ("/" + "abc/" * 1100, "too long"),
        ("/a" * (MOST_NAMES + 1), "too many names"),
    ],
)
def test_a_path_that_cannot_be_is_refused_with_the_reason(path: str, why: str) -> None:
    with pytest.raises(ErrorAnswer, match=why) as caught:
        parse(path)
    assert caught.value.code == -32602


def test_the_longest_name_is_allowed() -> None:
    assert parse("/" + "a" * LONGEST_NAME).names == ("a" * LONGEST_NAME,)


@given(names)
def test_names_put_together_are_cut_into_the_same_names(parts: list[str]) -> None:
    wanted = tuple(part for part in parts if part != ".")
    assert split_path(join_names(tuple(parts))) == wanted


@given(names, names)
def test_below_gives_what_comes_after(start: list[str], rest: list[str]) -> None:
    assert names_below((*start, *rest), tuple(start)) == tuple(rest)


def test_a_name_that_goes_on_is_another_name() -> None:
    assert names_below(("a", "bc"), ("a", "b")) is None
    assert names_below(("a",), ("a", "b")) is None
