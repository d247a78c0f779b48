"""What can be said of a text only as a whole."""

import pytest

from dragoman_review import apply_fixes
from dragoman_review.inspection import inspect

EXAMPLES = {
    "text/mixed-line-ends": ("a\r\nb\nc\n", "a\r\nb\r\n"),
    "text/bare-carriage-return": ("safe\rrm -rf x\n", "a\r\nb\n"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_check_hits_and_misses(name: str) -> None:
    hit, miss = EXAMPLES[name]
    assert name in {finding.rule for finding in inspect("x.c", hit, (), has_ruff=True).findings}
    assert name not in {finding.rule for finding in inspect("x.c", miss, (), has_ruff=True).findings}


@pytest.mark.parametrize(
    ("text", "after"), [("a\r\nb\nc\n", "a\nb\nc\n"), ("a\r\nb\r\nc\n", "a\r\nb\r\nc\r\n")]
)
def test_line_ends_become_those_of_most_lines(text: str, after: str) -> None:
    found = inspect("x.c", text, (), has_ruff=True).findings
    assert apply_fixes(text, found).text == text
    assert apply_fixes(text, found, unsafe=True).text == after
