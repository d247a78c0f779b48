"""A finding for people."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman_review import Severity
from dragoman_review.formats import WIDEST, as_text, plain, summary
from dragoman_review.text_edits import TextLines
from tests.review.findings import MENDED, finding

LINES = TextLines("import x\ny = eval(x)\n")


def test_place_severity_title_rule_line_reason_and_fix_are_shown() -> None:
    assert as_text(finding(fix=MENDED), LINES) == (
        "src/a b.py:2:5  high  A title  [python/eval]\n"
        "     2 | y = eval(x)\n"
        "       |     ^^^^\n"
        "    It is bad.\n"
        "    fix (safe): Mend it\n"
    )


def test_a_secret_is_not_shown() -> None:
    shown = as_text(finding(is_secret=True), LINES)
    assert "eval" not in shown.replace("[python/eval]", "")
    assert "y = ****(x)" in shown


def test_colours_only_when_asked_for() -> None:
    assert "\x1b" not in as_text(finding(), LINES)
    assert "\x1b[1;31mhigh\x1b[0m" in as_text(finding(), LINES, colour=True)


@given(st.text(max_size=30), st.text(max_size=30))
def test_nothing_in_a_text_can_speak_to_the_terminal(title: str, line: str) -> None:
    shown = as_text(finding(title=title, path=line, line=1, end_line=1), TextLines(line))
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert shown.count("\n") <= 4


def test_a_long_line_is_cut() -> None:
    shown = as_text(finding(line=1, end_line=1, column=900, end_column=950), TextLines("x" * 1000))
    assert max(map(len, shown.split("\n"))) < WIDEST + 20


def test_control_characters_are_written_out() -> None:
    assert plain("a\x1b[31m\tb\u202e") == "a␛[31m b\\u202e"


def test_a_summary_counts_by_severity_from_the_worst() -> None:
    found = [finding(severity=Severity.LOW), finding(), finding(severity=Severity.LOW)]
    assert summary(found, files=2) == "3 findings in 2 files: 1 high, 2 low"
    assert summary([], files=1) == "nothing found in 1 file"
