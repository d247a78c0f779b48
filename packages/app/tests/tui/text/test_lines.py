from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from dragoman_app.tui.text.lines import block, cut, hanging, plain, wrap_content


@given(st.text(alphabet="ab é漢", max_size=60), st.integers(2, 12))
def test_no_line_is_wider_than_the_width_and_no_letter_is_lost(text: str, width: int) -> None:
    lines = wrap_content(Content(text), width)
    assert all(line.cell_length <= width for line in lines)
    assert "".join(line.plain for line in lines).replace(" ", "") == text.replace(" ", "")


@given(st.text(alphabet="ab ", max_size=60), st.integers(2, 12))
def test_styled_text_is_wrapped_as_plain_text_is(text: str, width: int) -> None:
    styled = [line.plain for line in wrap_content(plain(text, "bold"), width)]
    assert styled == [line.plain for line in wrap_content(Content(text), width)]


def test_following_lines_hang_below_the_first() -> None:
    assert [line.plain for line in hanging(Content("one two"), 6, Content("- "))] == ["- one", "  two"]


def test_a_block_keeps_its_lines() -> None:
    assert [line.plain for line in block("a\n\n\tb", 20)] == ["a", "", "    b"]


def test_what_is_cut_says_so() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abc", 4) == "abc"
