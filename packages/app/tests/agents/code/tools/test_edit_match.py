"""Finding the place of an edit: exact, then looser, never by luck."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.edit_match import lines_of, replace

CODE = """def f(x):
    if x:
        return 1
    return 2


def g(x):
    return f(x) + 1
"""


def test_an_exact_place_is_replaced_and_its_line_told() -> None:
    edited = replace(CODE, "return 2", "return 3")
    assert edited.text == CODE.replace("return 2", "return 3")
    assert (edited.line, edited.note) == (4, "")


@given(st.text(), st.text(min_size=1), st.text(), st.text())
def test_what_stands_exactly_once_is_replaced_exactly(before: str, old: str, new: str, after: str) -> None:
    text = before + old + after
    if text.count(old) != 1 or old == new or "\r" in text:
        return
    assert replace(text, old, new).text == before + new + after


@given(st.text())
def test_lines_put_together_are_the_text(text: str) -> None:
    assert "".join(lines_of(text)) == text


def test_several_places_are_named_and_nothing_is_changed() -> None:
    with pytest.raises(ToolProblem, match=r"3 times, in lines 1, 2, 3"):
        replace("a\na\na\n", "a", "b")
    assert replace("a\na\na\n", "a", "b", everywhere=True).text == "b\nb\nb\n"


def test_lost_spaces_at_line_ends_are_forgiven() -> None:
    edited = replace("a = 1  \nb = 2\t\nc = 3\n", "a = 1\nb = 2\n", "a = 2\n")
    assert (edited.text, edited.note) == ("a = 2\nc = 3\n", "but for spaces at line ends")


def test_other_indentation_is_forgiven_and_the_new_text_moved_with_it() -> None:
    edited = replace(CODE, "if x:\n    return 1\n", "if not x:\n    return 0\n\nprint(x)\n")
    assert "    if not x:\n        return 0\n\n    print(x)\n    return 2\n" in edited.text
    back = replace("if x:\n    y()\n", "        if x:\n            y()\n", "        if x:\n            z()\n")
    assert back.text == "if x:\n    z()\n"


def test_spaces_within_a_line_are_forgiven() -> None:
    assert replace("x  =  {1,   2}\n", "x = {1, 2}", "x = {}").text == "x = {}\n"


def test_a_small_mistake_is_forgiven_where_the_place_is_clear() -> None:
    old = "def g(x):\n    return f(x) + 2\n"
    edited = replace(CODE, old, "def g(x):\n    return f(x)\n")
    assert edited.text.endswith("def g(x):\n    return f(x)\n")
    assert edited.line == 7
    assert "alike" in edited.note


def test_what_is_not_there_is_refused_with_a_hint() -> None:
    with pytest.raises(ToolProblem, match=r"not in the file\. Read the file again"):
        replace(CODE, "class Other:\n    pass\n", "")
    with pytest.raises(ToolProblem, match=r"The most alike is line 7"):
        replace(CODE, "def g(x):\n    return h(x, x, 1)\n", "")


def test_places_that_are_equally_alike_are_refused() -> None:
    text = "number_1 = compute_the_answer()\nother\nnumber_2 = compute_the_answer()\n"
    with pytest.raises(ToolProblem, match="several places are alike"):
        replace(text, "number_x = compute_the_answer()", "x")
    with pytest.raises(ToolProblem, match="fits several places"):
        replace("  a = 1\nb\n   a = 1\n", "\ta = 1\n", "c\n")


def test_line_ends_of_the_file_are_kept() -> None:
    assert replace("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n").text == "x\r\ny\r\nc\r\n"


@pytest.mark.parametrize(("old", "new", "why"), [("", "x", "is empty"), ("a", "a", "are the same")])
def test_an_edit_that_says_nothing_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(ToolProblem, match=why):
        replace("a", old, new)
