from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.script.statements import ScriptError, Statement, parse, render
from tests.every import every

texts = st.text(st.characters(exclude_categories=["Cs"]))
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=3,
)
words = texts | st.lists(values, max_size=3) | st.dictionaries(texts, values, max_size=3)
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)


@st.composite
def statements(draw: st.DrawFn, depth: int = 0) -> tuple[Statement, ...]:
    def one() -> Statement:
        body = draw(statements(depth=depth + 1)) if depth < 2 and draw(st.booleans()) else ()
        options = draw(st.dictionaries(names, words, max_size=2))
        return Statement(draw(names), tuple(draw(st.lists(words, max_size=3))), options, body)

    return tuple(one() for _ in range(draw(st.integers(1, 3))))


def without_lines(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return tuple(Statement(s.verb, s.words, s.options, without_lines(s.body)) for s in block)


@given(statements())
def test_what_is_rendered_reads_as_the_same(block: tuple[Statement, ...]) -> None:
    assert without_lines(parse(render(block))) == block


def test_a_line_is_a_verb_words_and_options() -> None:
    (line,) = parse('tool "Read it" {"a": [1, null]} kind=read title="two words"')
    assert line == Statement(
        "tool", ("Read it", {"a": [1, None]}), {"kind": "read", "title": "two words"}, (), 1
    )


def test_what_is_indented_belongs_to_the_line_above() -> None:
    (on, start) = parse(
        "on prompt\n  ask x\n      allowed\n         say a\n      rejected\n  say b\n\nstart\n"
    )
    assert [inner.verb for inner in on.body] == ["ask", "say"]
    assert [inner.verb for inner in on.body[0].body] == ["allowed", "rejected"]
    assert start.body == ()


def test_comments_blank_lines_and_carriage_returns_are_nothing() -> None:
    assert parse("# one\r\n\r\n  # two\r\nsay a\r\n") == (Statement("say", ("a",), line=4),)


def test_a_whole_script_may_be_indented() -> None:
    assert [(s.verb, [b.verb for b in s.body]) for s in parse("    a\n      b\n    c\n")] == [
        ("a", ["b"]),
        ("c", []),
    ]


def test_quotes_may_hold_what_some_take_for_a_line_break() -> None:
    (line,) = parse('say "a\u2028b\\nc"')
    assert line.words == ("a\u2028b\nc",)


@every(
    ("text", "line", "why"),
    [
        ('say "open', 1, "column"),
        ("say {1}", 1, "column"),
        ("ok\n\tsay a", 2, "tabs"),
        ("a\n    b\n  c", 3, "fits no line"),
        ("  a\nb", 2, "less than the first"),
        ('"a"b', 1, "space is missing"),
        ("{}", 1, "begins with a verb"),
        ("kind=read", 1, "begins with a verb"),
        ("say kind=", 1, "word was expected"),
        ("say ]", 1, "word was expected"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(ScriptError, match=why) as mistake:
        parse(text)
    assert mistake.value.line == line
    assert str(mistake.value).startswith(f"line {line}: ")
