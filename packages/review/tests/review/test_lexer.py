"""Where comments and strings are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.pace import patience
from dragoman_review.languages import LANGUAGES
from dragoman_review.lexer import LexicalSpans, spans
from tests.every import every


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "x = 1  # c\n", ["# c"]),
        ("python", "'''a # b'''  # c", ["'''a # b'''", "# c"]),
        ("python", "s = 'it\\'s' # c", ["'it\\'s'", "# c"]),
        ("javascript", "a // c\n/* d\n e */ `x${'y'}`", ["// c", "/* d\n e */", "`x${'y'}`"]),
        ("bash", "echo ${a#b} $# # c", ["# c"]),
        ("bash", "echo 'a\nb' # c", ["'a\nb'", "# c"]),
        ("bash", "cat <<EOF > x # c\nit's # no\nEOF\necho 'd'\n", ["# c", "it's # no", "'d'"]),
        ("bash", "bash -s <<'EOF'\nrm 'a'\nEOF\n", ["'EOF'", "'a'"]),
        ("bash", "echo $((1 << n))\necho 'a'\n", ["'a'"]),
        ("rust", "fn f<'a>(x: &'a str) { '\\n'; } // c", ["'\\n'", "// c"]),
        ("rust", 'r#"a " b"# // c', ['r#"a " b"#', "// c"]),
        ("go", "`a\n\\` // c", ["`a\n\\`", "// c"]),
        ("sql", "SELECT 'a -- b' -- c", ["'a -- b'", "-- c"]),
        ("html", "<p># no</p><!-- c -->", ["<!-- c -->"]),
        ("yaml", "a: b#c # d", ["# d"]),
        ("lua", "--[[ a\nb ]] x --c", ["--[[ a\nb ]]", "--c"]),
        ("ini", "a = b # no\n; c\n", ["; c"]),
        ("kotlin", 'f("a ${b["c"]} d") // e', ['"a ${b["c"]} d"', "// e"]),
        ("c", "char q = '\"'; // c", ["'\"'", "// c"]),
        ("powershell", "<# a #> 'b' # c", ["<# a #>", "'b'", "# c"]),
    ],
)
def test_a_language_has_its_own_marks(language: str, text: str, expected: list[str]) -> None:
    assert [text[span.start : span.end].strip() for span in spans(text, language)] == expected


def test_a_string_that_is_not_closed_ends_with_its_line() -> None:
    text = 'x = "open\ny = 1 # c\n'
    assert LexicalSpans(text, "python").kind_at(text.index("open")) == "string"
    assert LexicalSpans(text, "python").kind_at(text.index("y")) == "code"
    assert LexicalSpans(text, "python").kind_at(text.index("c\n")) == "comment"


def test_of_an_unknown_language_everything_is_code() -> None:
    assert LexicalSpans("# x", None).kind_at(0) == "code"


marks = st.text(st.sampled_from("ab\"'`#/*-<>!{}[]%;\\\n $r="), max_size=80)


@given(marks, st.sampled_from(sorted(LANGUAGES)))
def test_spans_are_in_order_and_apart(text: str, language: str) -> None:
    found = spans(text, language)
    ends = [0, *(span.end for span in found)]
    assert all(span.start >= end for span, end in zip(found, ends, strict=False))
    assert all(span.start < span.end <= len(text) for span in found)


@every("language", sorted(LANGUAGES))
@every("piece", ['"', "'", "/*", '"""', "\\", "r#", "<!--", "`", "--[[", "a <<b\n"])
def test_marks_without_end_take_no_more_than_linear_time(language: str, piece: str) -> None:
    began = time.process_time()
    spans(piece * 8_000, language)
    assert time.process_time() - began < patience(1)  # linear takes milliseconds, quadratic many seconds


def test_here_documents_without_end_take_no_more_than_linear_time() -> None:
    began = time.process_time()
    assert spans("".join(f"cat <<MARK{number}\n" for number in range(20_000)), "bash") == []
    assert time.process_time() - began < patience(2)


def test_a_here_document_ends_with_the_first_line_that_is_its_mark() -> None:
    text = "cat <<END\nENDING\nx END\n\tEND\necho END\nEND\ncat <<REST\nr\n"
    assert [text[span.start : span.end] for span in spans(text, "bash")] == ["\nENDING\nx END\n"]
