"""Markdown on a terminal, however it is cut into pieces."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.testing.pace import patience
from dragoman_app.apps.run.markdown import (
    BOLD,
    CODE,
    DIM,
    HEADING,
    ITALIC,
    RESET,
    STRIKE,
    UNDERLINE,
    MarkdownPrinter,
)

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def shown(*pieces: str) -> str:
    printer = MarkdownPrinter()
    return "".join(map(printer.feed, pieces)) + printer.finish()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain text\n", "plain text\n"),
        ("# Title\nbody\n", f"{HEADING}Title{RESET}\nbody\n"),
        ("- one\n* two\n", "• one\n• two\n"),
        ("1. one\n1. two\n", "1. one\n2. two\n"),
        ("- [x] done\n- [ ] open\n", "☑ done\n☐ open\n"),
        ("- a\n-\n10. 1.", "• a\n• \n10. 1. \n"),
        ("a **bold** word", f"a {BOLD}bold{RESET} word\n"),
        ("an *italic* word", f"an {ITALIC}italic{RESET} word\n"),
        ("~~gone~~", f"{STRIKE}gone{RESET}\n"),
        ("some `code` here", f"some {CODE}code{RESET} here\n"),
        ("[here](x.org)", f"{UNDERLINE}here{RESET}{DIM} (x.org){RESET}\n"),
        ("> said\n", f"{DIM}│ {RESET}{DIM}said{RESET}\n"),
        ("---\n", f"{DIM}{'─' * 24}{RESET}\n"),
        ("2 * 3 * 4\n", "2 * 3 * 4\n"),
        ("snake_case_name\n", "snake_case_name\n"),
        ("`**not bold**`", f"{CODE}**not bold**{RESET}\n"),
        ("#hashtag\n", "#hashtag\n"),
        ("|a|b|\n|-|-|\n|1|漢|", f"a{DIM} │ {RESET}b\n{DIM}──┼───{RESET}\n1{DIM} │ {RESET}漢\n"),
    ],
)
def test_marks_become_styles(source: str, expected: str) -> None:
    assert shown(source) == expected


def test_code_is_shown_as_it_is() -> None:
    out = shown("```python\n# no heading\n- no **list**\n```\nafter\n")
    assert STYLE.sub("", out) == "```python\n# no heading\n- no **list**\n```\nafter\n"
    assert f"{CODE}# no heading{RESET}" in out
    assert out.endswith("after\n")


def test_words_do_not_wait_for_the_end_of_their_paragraph() -> None:
    printer = MarkdownPrinter()
    assert printer.feed("The first word") == "The first word"
    assert printer.feed(" and **bo") == " and "
    assert printer.feed("ld** more") == f"{BOLD}bold{RESET} more"


def test_lines_of_code_do_not_wait_for_the_end_of_the_code() -> None:
    printer = MarkdownPrinter()
    assert printer.feed("```\none\ntwo\n") == f"{DIM}```{RESET}\n{CODE}one{RESET}\n"


def test_an_escape_sequence_is_shown_and_not_sent() -> None:
    assert shown("\x1b[2J and &#x202e;x and `\x9b2J`") == f"␛[2J and \\u202ex and {CODE}\\u009b2J{RESET}\n"


def test_a_heading_that_is_underlined_keeps_its_text() -> None:
    assert STYLE.sub("", shown(*"Title\n=====\ntext\n")) == "Title\ntext\n"


def test_dashes_that_become_a_rule_are_not_shown_before_it() -> None:
    assert shown(*"---") == shown("---")
    assert shown(*"-- no rule") == "-- no rule\n"


@given(st.text(alphabet="ab *_`#->~\n1.", max_size=40), st.data())
def test_how_it_is_cut_changes_no_word(text: str, data: st.DataObject) -> None:
    pieces, rest = [], text
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert STYLE.sub("", shown(*pieces)) == STYLE.sub("", shown(text))


@given(st.text(alphabet="ab *_`#->~\n1.", max_size=40))
@example("~~~1 a")
def test_letters_are_neither_lost_nor_moved(text: str) -> None:
    assert re.sub("[^ab]", "", STYLE.sub("", shown(text))) == re.sub("[^ab]", "", text)


def test_a_long_answer_in_small_pieces_takes_time_that_grows_with_its_length_alone() -> None:
    printer, began = MarkdownPrinter(), time.process_time()
    for _ in range(1000):
        printer.feed("a word and another ")
    assert time.process_time() - began < patience(8)  # quadratic work would take minutes
