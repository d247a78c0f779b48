"""A query is words, whatever is typed."""

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.journal.search_text import (
    AROUND,
    excerpt,
    has_all,
    match_expression,
    space_words,
    unspace_words,
    words_of,
)
from dragoman_local.journal.tables import WORDS
from tests.every import every


@given(st.text(), st.text())
def test_nothing_that_is_typed_is_an_error(text: str, query: str) -> None:
    base = sqlite3.connect(":memory:")
    base.execute(WORDS)
    base.execute(
        "insert into words (text) values (?)", (space_words(text.encode(errors="replace").decode()),)
    )
    expression = match_expression(query.encode(errors="replace").decode())
    if expression is not None:
        base.execute("select rowid from words where words match ?", (expression,)).fetchall()
    base.close()
    has_all(text, query)
    excerpt(text, query)


@every(
    ("text", "query", "expected"),
    [
        ("The quick brown fox", "quick fox", True),
        ("The quick brown fox", "bro", True),
        ("The quick brown fox", "own", False),
        ("snake_case_name", "case", True),
        ("see src/main.py:12", "main.py", True),
        ("naïve café", "CAFE naive", True),
        ("我们说世界你好", "世界", True),
        ("我们说世界你好", "界世", False),
        ("anything", "", False),
        ("anything", "…", False),
    ],
)
def test_memory_and_index_find_the_same(text: str, query: str, expected: bool) -> None:
    base = sqlite3.connect(":memory:")
    base.execute(WORDS)
    base.execute("insert into words (text) values (?)", (space_words(text),))
    expression = match_expression(query)
    hits = expression and base.execute("select * from words where words match ?", (expression,)).fetchall()
    base.close()
    assert bool(hits) == expected
    assert has_all(text, query) == expected


@given(st.text().filter(lambda text: "\u200b" not in text))
def test_what_is_put_between_characters_goes_away_again(text: str) -> None:
    assert unspace_words(space_words(text)) == text


def test_an_excerpt_shows_the_words_in_their_surroundings_on_one_line() -> None:
    text = "begin " * 50 + "the\nneedle here " + "end " * 50
    shown = excerpt(text, "needle")
    assert "the needle here" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 2 * AROUND + 2
    assert excerpt("short needle", "needle") == "short needle"


def test_words_are_what_has_a_letter_or_a_digit() -> None:
    assert words_of("  a -- b2 … ?!  ") == ["a", "b2"]
