"""Rules that are regular expressions."""

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.pace import patience
from dragoman_review.inspection import inspect
from dragoman_review.rules import ReviewRule, own_rules, parse_rules
from dragoman_review.text_edits import TextLines
from dragoman_review.text_rules import SearchedText, compile_rule, entropy, looks_random
from dragoman_review.worker_messages import LONGEST_LINE
from tests.every import every


def rule(more: str) -> ReviewRule:
    head = "[[rule]]\nid = 'x/y'\ntitle = 't'\nwhy = 'w'\nseverity = 'low'\n"
    (made,) = parse_rules(head + more, "x.toml")
    return made


def lines_found(made: ReviewRule, text: str, path: str = "x.py") -> list[int]:
    return [finding.line for finding in inspect(path, text, (made,), has_ruff=True).findings]


@pytest.mark.parametrize(
    ("where", "expected"), [("code", [1]), ("comment", [2]), ("string", [3]), ("anywhere", [1, 2, 3])]
)
def test_a_rule_holds_where_it_says(where: str, expected: list[int]) -> None:
    made = rule(f"pattern = 'word'\nwhere = '{where}'\n")
    assert lines_found(made, "word = 1\n# word\ns = 'word'\n") == expected


def test_a_line_with_something_else_in_it_is_left_alone() -> None:
    assert lines_found(rule("pattern = 'a'\nunless = 'b'\n"), "a\nab\na\n") == [1, 3]


def test_a_text_without_what_a_rule_needs_is_not_tried() -> None:
    made = rule("pattern = '[ab]'\nneeds = 'b'\n")
    assert lines_found(made, "a\n") == []
    assert lines_found(made, "a\nb\n") == [1, 2]


def test_paths_are_chosen_and_left_out() -> None:
    made = rule("pattern = 'a'\npaths = ['**/*.py', 'Makefile']\nnot_paths = ['**/tests/**']\n")
    paths = ["x.py", "d/x.py", "Makefile", "sub/Makefile", "tests/x.py", "a/tests/b/x.py", "x.js", "my.pyx"]
    assert [path for path in paths if lines_found(made, "a\n", path)] == [
        *("x.py", "d/x.py", "Makefile", "sub/Makefile")
    ]


def test_a_fix_is_a_template() -> None:
    made = rule("pattern = '(?P<name>\\w+) ==='\nfix = '\\g<name> =='\nsafe = true\nfix_title = 'mend'\n")
    (found,) = inspect("x.txt", "one ===\n", (made,), has_ruff=True).findings
    assert found.fix is not None
    assert (found.fix.title, found.fix.safe, found.fix.edits[0].text) == ("mend", True, "one ==")


def test_a_fix_that_changes_nothing_is_none() -> None:
    (found,) = inspect("x.txt", "a\n", (rule("pattern = 'a'\nfix = 'a'\n"),), has_ruff=True).findings
    assert found.fix is None


def test_lines_that_machines_wrote_are_left_alone() -> None:
    made = rule("pattern = 'a'\n")
    assert lines_found(made, "a" + "x" * LONGEST_LINE + "\na\n") == [2]


keyworded = [
    made for made in own_rules() if made.pattern is not None and made.keywords and not made.spans_lines
]


@every("made", keyworded, ids=lambda made: made.id)
def test_keywords_never_hide_a_hit(made: ReviewRule) -> None:
    for text in made.hits:
        padded = "\n" * 9 + text + "\n" * 9 + text
        pattern, _ = compile_rule(made)
        whole = {found.span() for found in pattern.finditer(padded)}
        parts = {
            found.span()
            for begin, end in SearchedText(TextLines(padded)).windows(made)
            for found in pattern.finditer(padded, begin, end)
        }
        assert parts == whole


@given(st.text(st.sampled_from("ab\n"), max_size=80), st.sampled_from([("a",), ("a", "bb"), ("aa", "ab")]))
def test_windows_are_whole_lines_in_order_that_hold_every_keyword(text: str, words: tuple[str, ...]) -> None:
    made = rule(f"pattern = 'a'\nkeywords = {list(words)}\n")
    windows = list(SearchedText(TextLines(text)).windows(made))
    ends = [0, *(end for _, end in windows)]
    assert all(begin >= end for (begin, _), end in zip(windows, ends, strict=False))
    for begin, end in windows:
        assert begin == 0 or text[begin - 1] == "\n"
        assert end == len(text) or text[end - 1] == "\n"
    for word in words:
        for found in re.finditer(re.escape(word), text):
            assert any(begin <= found.start() and found.end() <= end for begin, end in windows)


def test_a_letter_that_becomes_two_in_lower_case_moves_nothing() -> None:
    assert lines_found(rule("pattern = 'key'\nkeywords = ['key']\n"), "İİİ\nkey\n") == [2]


def test_entropy_counts_bits_a_character() -> None:
    assert entropy("aaaa") == 0
    assert entropy("abcd") == 2
    assert not looks_random("", 1.0)


@pytest.mark.parametrize(
    "text", ["EXAMPLEq8Zr3Tk", "your_token_q8Zr3", "${q8Zr3TkPw2}", "<q8Zr3TkPw2xY>", "xxxxq8Zr3Tk"]
)
def test_a_placeholder_is_no_secret(text: str) -> None:
    assert entropy(text) > 2.5
    assert not looks_random(text, 2.5)


PIECES = [
    "a",
    " ",
    "\n",
    "'",
    '"',
    "a ",
    "a=",
    "password",
    "key: '",
    "rm -r ",
    "http://a",
    "${{ ",
    "eyJ",
    "<a ",
    "curl ",
]


@every("piece", PIECES)
@pytest.mark.parametrize("size", [4_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_no_pattern_of_ours_takes_long_on_what_repeats_itself(piece: str, size: int) -> None:
    text = (piece * (size // len(piece) + 1))[:size]
    slow = []
    for made in own_rules():
        if made.pattern is None:
            continue
        begun = time.process_time()
        for _ in compile_rule(made)[0].finditer(text):
            pass
        if time.process_time() - begun > patience(min(0.5, size / 16_000)):  # the slowest takes a tenth of it
            slow.append(made.id)
    assert slow == []


reaching = [made for made in own_rules() if made.pattern is not None]


@every("made", reaching, ids=lambda made: made.id)
def test_a_pattern_takes_no_more_than_linear_time_on_its_own_lines_again_and_again(made: ReviewRule) -> None:
    pattern, _ = compile_rule(made)
    for head, piece in sorted({piece for text in made.hits for piece in _pieces(text)}):
        # A step for each pair of places takes twice that.
        if _seconds(pattern, head, piece, 5_000) < 0.012:
            continue
        short, long = (
            min(_seconds(pattern, head, piece, size) for _ in range(3)) for size in (5_000, 20_000)
        )
        # Four times as long is linear, 16 times is not; between them is room for a busy machine.
        assert long < 9 * short, (head, piece)


def _seconds(pattern: re.Pattern[str], head: str, piece: str, size: int) -> float:
    """The processor time of a search in a text that repeats itself behind its head."""
    text = head + piece * (size // len(piece))
    began = time.process_time()
    for _ in pattern.finditer(text):
        pass
    return time.process_time() - began


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a text, as they are before the rest is written, and each behind the one above it."""
    above = ""
    for line in text.splitlines():
        yield from (("", line[: match.end()]) for match in re.finditer(r"\w+\s*|[^\w\s]\s*", line))
        yield "", f"{line}\n"
        yield above, f"{line}\n"
        above = f"{line}\n"
