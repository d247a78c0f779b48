"""Paths and code in what people write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_app.agents.review.mentions import (
    Mention,
    Snippet,
    find_mentions,
    guesses,
    path_of,
    snippets,
    split_lines,
)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see src/a.py, lib/ and b.go.", ("src/a.py", "lib/", "b.go")),
        ("@src @docs/x.md", ("src", "docs/x.md")),
        ('the "long name.txt" and `x y.py`', ("long name.txt", "x y.py")),
        ("and/or e.g. https://example.org/a.py 3.11", ()),
        ("/etc/hosts ~/x.py ./a ../b", ("/etc/hosts", "~/x.py", "./a", "../b")),
        ("a.py a.py", ("a.py",)),
    ],
)
def test_paths_are_seen_in_a_sentence(text: str, paths: tuple[str, ...]) -> None:
    assert find_mentions(text) == paths


def test_a_bare_or_quoted_word_is_only_a_guess() -> None:
    assert guesses('review src, "test" and the Makefile') == ("test", "src", "Makefile")


@pytest.mark.parametrize(
    ("path", "mention"),
    [
        ("a.py", Mention("a.py")),
        ("a.py:3", Mention("a.py", (3, 3))),
        ("a.py:3-9", Mention("a.py", (3, 9))),
        ("a.py:9-3", Mention("a.py", (9, 9))),
        ("a.py#L3-L9", Mention("a.py", (3, 9))),
        (":3", Mention(":3")),
    ],
)
def test_lines_are_split_from_a_path(path: str, mention: Mention) -> None:
    assert split_lines(path) == mention


@pytest.mark.parametrize(
    ("uri", "mention"),
    [
        ("file:///a/b%20c.py", Mention("/a/b c.py")),
        ("file:///a/b.py#L2:4", Mention("/a/b.py", (2, 4))),
        ("file:///C:/a.py", Mention("C:/a.py")),
        ("/a/b.py", Mention("/a/b.py")),
        ("https://example.org/a.py", None),
        ("untitled:Untitled-1", None),
    ],
)
def test_an_address_is_a_path_or_nothing(uri: str, mention: Mention | None) -> None:
    assert path_of(uri) == mention


def test_fenced_code_is_taken_out_of_the_words() -> None:
    text = "look:\n```py\nx = 1\n```\nand\n~~~sql\nselect 1\n~~~\n"
    words, found = snippets(text)
    assert words.split() == ["look:", "and"]
    assert found == (Snippet("snippet-1.py", "x = 1\n"), Snippet("snippet-2.sql", "select 1\n"))
    assert snippets("``` not closed") == ("``` not closed", ())


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    find_mentions(text)
    guesses(text)
    snippets(text)
    split_lines(text)
    path_of(text)
    path_of(f"file://{text}")
    find_mentions(f"file://{text}")
