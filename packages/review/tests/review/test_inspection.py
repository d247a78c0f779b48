"""One text, all rules: whatever the text is, nothing is raised and every place lies within it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_review import Finding, apply_edits, apply_fixes
from dragoman_review.inspection import inspect
from dragoman_review.languages import language_of
from dragoman_review.rules import own_rules
from dragoman_review.text_edits import TextLines
from tests.review.samples import NAMES

SNIPPETS = [text for rule in own_rules() for text in (*rule.hits, *rule.misses)]

anything = st.one_of(
    st.text(max_size=200),
    st.text(st.sampled_from("ab01 \t\n\r\\\"'`#/*-<>(){}[]=:;,.$%&|é😀\u202e\u200b"), max_size=120),
    st.lists(st.sampled_from(SNIPPETS), max_size=4).map("".join),
    st.tuples(st.sampled_from(SNIPPETS), st.integers(0, 60), st.text(max_size=5)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    ),
)


def check(path: str, text: str, has_ruff: bool) -> list[Finding]:
    found = inspect(path, text, own_rules(), has_ruff=has_ruff)
    lines = TextLines(text)
    for finding in found.findings:
        place = finding.place
        start = lines.offset(place.line, place.column)
        end = lines.offset(place.end_line, place.end_column)
        assert 0 <= start <= end <= len(text)
        assert lines.position(start) == (place.line, place.column)
        if finding.fix is not None:
            apply_edits(text, finding.fix.edits)
    return found.findings


@pytest.mark.bound(60)
@settings(max_examples=max(100, settings().max_examples))
@given(st.sampled_from([*NAMES.values(), "README.md", "x"]), anything, st.booleans())
def test_any_text_is_survived(path: str, text: str, has_ruff: bool) -> None:
    check(path, text, has_ruff)


@pytest.mark.bound(60)
@given(st.sampled_from([*NAMES.values()]), anything)
def test_fixing_comes_to_an_end(path: str, text: str) -> None:
    for _ in range(20):
        done = apply_fixes(text, check(path, text, has_ruff=False))
        if done.text == text:
            return
        text = done.text
    pytest.fail(f"safe fixes never come to an end: {text!r}")


def test_each_place_is_reported_once_a_rule() -> None:
    found = inspect("x.js", "eval(eval(x));\n", own_rules(), has_ruff=True).findings
    assert [finding.place.column for finding in found if finding.rule == "javascript/no-eval"] == [1, 6]


def test_every_name_of_a_file_is_of_its_language() -> None:
    assert {language: language_of(name) for language, name in NAMES.items()} == {name: name for name in NAMES}
