"""Strings and comments of TOML texts."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.toml import toml_pieces, toml_skeleton
from tests.every import every


@every(
    ("text", "expected"),
    [
        ("", []),
        ("a=1", ["a", "=", "1"]),
        ("a='#[' # '", ["a", "=", "'#['", " "]),
        ("# [x]\nb", ["\n", "b"]),
        ('"\\"#"x', ['"\\"#"', "x"]),
        ("'\\'x", ["'\\'", "x"]),
        ('"""a\n"b"""x', ['"""a\n"b"""', "x"]),
        ("'''a\n'b'''x", ["'''a\n'b'''", "x"]),
        ("'never closed", ["'never closed"]),
        ('"\\', ['"\\']),
    ],
)
def test_a_string_is_one_piece_and_a_comment_is_none(text: str, expected: list[str]) -> None:
    pieces = list(toml_pieces(text))
    assert [piece for _, piece in pieces] == expected
    assert all(text.startswith(piece, at) for at, piece in pieces)


def test_pieces_begin_where_they_are_asked_for() -> None:
    assert list(toml_pieces("a = 'b'", 3)) == [(3, " "), (4, "'b'")]


@given(st.lists(st.text(st.sampled_from("ab[]#\"'\n\\"), max_size=12), max_size=4))
def test_a_skeleton_keeps_the_lines_and_no_content(values: list[str]) -> None:
    text = "".join(f"k{n} = {_quoted(value)}\n" for n, value in enumerate(values))
    tomllib.loads(text)
    bare = toml_skeleton(text)
    assert bare.count("\n") == text.count("\n")
    assert "a" not in bare
    assert "[" not in bare


def _quoted(value: str) -> str:
    if "\n" in value and "'''" not in value and not value.endswith("'"):
        return f"'''{value}'''"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
