"""Markdown for a terminal, however it is cut into pieces."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.run.markdown import BOLD, CODE, DIM, HEADING, ITALIC, RESET, Markdown

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def shown(*pieces: str) -> str:
    markdown = Markdown()
    return "".join(map(markdown.feed, pieces)) + markdown.finish()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain text\n", "plain text\n"),
        ("# Title\nbody\n", f"{HEADING}Title{RESET}\nbody\n"),
        ("- one\n* two\n", "• one\n• two\n"),
        ("1. one\n", "1. one\n"),
        ("a **bold** word", f"a {RESET}{BOLD}bold{RESET} word"),
        ("an *italic* word", f"an {RESET}{ITALIC}italic{RESET} word"),
        ("some `code` here", f"some {RESET}{CODE}code{RESET} here"),
        ("> said\n", f"{DIM}│ said{RESET}\n"),
        ("---\n", f"{DIM}{'─' * 24}{RESET}\n"),
        ("2 * 3 * 4\n", "2 * 3 * 4\n"),
        ("snake_case_name\n", "snake_case_name\n"),
        ("`**not bold**`", f"{RESET}{CODE}**not bold**{RESET}"),
        ("#hashtag\n", "#hashtag\n"),
    ],
)
def test_marks_become_styles(source: str, expected: str) -> None:
    assert shown(source) == expected


def test_code_is_shown_as_it_is() -> None:
    out = shown("```python\n# no heading\n- no **list**\n```\nafter\n")
    assert STYLE.sub("", out) == "```python\n# no heading\n- no **list**\n```\nafter\n"
    assert f"{CODE}# no heading{RESET}" in out
    assert out.endswith("after\n")


def test_a_long_paragraph_does_not_wait_for_its_end() -> None:
    markdown = Markdown()
    assert markdown.feed("The first word") == "The first word"
    assert markdown.feed(" and **bo") == f" and {RESET}{BOLD}bo"


def test_nothing_stays_switched_on() -> None:
    assert shown("**never closed").endswith(RESET)
    assert shown("**never closed\nnext").endswith(f"{RESET}\nnext")


@given(st.text(alphabet="ab *_`#->~\n1.", max_size=40), st.data())
def test_how_it_is_cut_makes_no_difference(text: str, data: st.DataObject) -> None:
    pieces, rest = [], text
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert shown(*pieces) == shown(text)


@given(st.text(alphabet="ab *_`#->~\n1.", max_size=40))
def test_nothing_but_marks_is_lost(text: str) -> None:
    kept = re.sub(r"[*_`#>~─│• -]", "", STYLE.sub("", shown(text)))
    assert kept == re.sub(r"[*_`#>~ -]", "", text)
