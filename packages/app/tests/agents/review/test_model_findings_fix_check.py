"""A fix of a model is checked: it must parse, and bring nothing that the rules complain about."""

from __future__ import annotations

import pytest

from dragoman_app.agents.review.model_findings import fix_problem, quoted_lines, smallest_edit
from dragoman_review import ReviewSettings, apply_edits


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.js", "function f(a) { return a }\n", "function f(a { return a }\n"),
        ("a.ts", "const a: number = 1;\n", "const a: number = ;\n"),
        ("a.go", "package a\n\nfunc f() {}\n", "package a\n\nfunc f( {}\n"),
        ("a.rs", "fn f() { let x = 1; }\n", "fn f() { let x = 1;\n"),
        ("A.java", "class A { int x = 1; }\n", "class A { int x = 1 }\n"),
        ("a.kt", "fun f(a: Int) {}\n", "fun f(a: Int {}\n"),
        ("a.sh", "if true; then echo 1; fi\n", "if true; then echo 1\n"),
    ],
)
async def test_a_fix_that_breaks_the_syntax_is_found_in_every_language(
    path: str, before: str, after: str
) -> None:
    assert await fix_problem(path, before, after, ReviewSettings()) == "the file does not parse after it"


async def test_errors_that_were_there_before_do_not_count_against_a_fix() -> None:
    broken = "function f( {\n"
    assert await fix_problem("a.js", broken, f"// Hm.\n{broken}", ReviewSettings(use_oxlint=False)) is None


async def test_a_fix_may_leave_what_the_rules_found_before_it() -> None:
    before = "def f(seen=[]):\n    return eval(seen)\n"
    after = "def f(seen=None):\n    return eval(seen)\n"
    assert await fix_problem("a.py", before, after, ReviewSettings(use_ruff=False)) is None


def test_quoted_lines_are_found_without_indentation_and_line_numbers() -> None:
    text = "a = 1\nb = 2\n\n    c = 3\nb = 2\n"
    assert quoted_lines(text, "     2\tb = 2\n     4\tc = 3", near=1) == (2, 4)
    assert quoted_lines(text, "b = 2", near=5) == (5, 5)
    assert quoted_lines(text, "d = 4", near=1) is None
    assert quoted_lines(text, "\n", near=1) is None


@pytest.mark.parametrize(("before", "after"), [("abc", "abXc"), ("aaa", "aa"), ("", "x"), ("xay", "xby")])
def test_an_edit_makes_the_one_text_from_the_other(before: str, after: str) -> None:
    assert apply_edits(before, [smallest_edit(before, after)]) == after


async def test_a_fix_does_not_silence_the_rules_that_judge_it() -> None:
    before = "x = 1\n"
    for comment in ("dragoman: ignore[python/eval] ours", "noqa", "ruff: noqa"):
        after = f"x = eval('1')  # {comment}\n"
        assert await fix_problem("a.py", before, after, ReviewSettings()) is not None, comment
    kept = "y = eval('1')  # dragoman: ignore[python/eval] a constant\n"
    assert await fix_problem("a.py", before + kept, "x = 2\n" + kept, ReviewSettings()) is None
