"""Lines and edits of TOML texts."""

import tomllib

import hypothesis.strategies as st
from hypothesis import given

from dragoman_local.known.toml_text import line_of, statements, write_key, write_value
from tests.every import every

TEXT = '''# the top
default_agent = "one"

[agents.one]
command = [
  "a", # with [brackets]
  "b",
]
env = { A = "1" }

[agents."two three".env]
NOTE = """
[agents.fake]
x = 1
"""
'''


def test_the_statements_make_up_the_whole_text() -> None:
    assert "".join(statement.text for statement in statements(TEXT)) == TEXT


def test_each_statement_knows_its_full_name_and_its_lines() -> None:
    named = [(one.path, one.first, one.last) for one in statements(TEXT) if one.path]
    assert named == [
        (("default_agent",), 2, 2),
        (("agents", "one"), 4, 4),
        (("agents", "one", "command"), 5, 8),
        (("agents", "one", "env", "A"), 9, 9),
        (("agents", "two three", "env"), 11, 11),
        (("agents", "two three", "env", "NOTE"), 12, 15),
    ]


@every(
    ("path", "line"),
    [
        (("agents", "one", "command"), 5),
        (("agents", "one", "nothing"), 4),
        (("agents", "two three", "env", "NOTE"), 12),
        (("nothing",), 1),
    ],
)
def test_a_name_leads_to_its_line_or_to_what_holds_it(path: tuple[str, ...], line: int) -> None:
    assert line_of(TEXT, *path) == line


def test_tables_in_arrays_have_names_too() -> None:
    assert [one.path for one in statements("[[agents]]\nx = 1\n")] == [("agents",), ("agents", "x")]


def test_a_separator_that_only_python_takes_for_a_newline_stays_in_its_string() -> None:
    text = 'x = "a\u2028b"\ny = 1\n'
    assert [one.first for one in statements(text)] == [1, 2]


# Surrogates cannot stand in a file, and so not in TOML.
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, st.lists(texts), st.dictionaries(texts, texts))
def test_what_is_written_is_read_back(key: str, words: list[str], table: dict[str, str]) -> None:
    text = f"{write_key(key)} = {write_value(words)}\n[x]\ntable = {write_value(table)}\n"
    if key != "x":
        assert tomllib.loads(text) == {key: words, "x": {"table": table}}
