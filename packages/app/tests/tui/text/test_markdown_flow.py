import time

from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.pace import patience
from dragoman_app.tui.text.markdown import MarkdownLines

TEXTS = st.lists(
    st.sampled_from(
        [
            "word ",
            "**b** ",
            "\n",
            "\n\n",
            "- item\n",
            "```\n",
            "```python\n",
            "# head\n",
            "| a | b |\n",
            "|---|---|\n",
            "\r\n",
            "> q\n",
            "  ",
        ]
    ),
    max_size=30,
).map("".join)


def drawn(flow: MarkdownLines) -> list[str]:
    return [line.plain for line in flow.lines]


@given(TEXTS, st.data())
def test_how_a_text_is_cut_into_pieces_changes_nothing(text: str, data: st.DataObject) -> None:
    whole, pieces, rest = MarkdownLines(30), MarkdownLines(30), text
    whole.feed(text)
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        pieces.feed(rest[:cut])
        _ = pieces.lines  # drawing in between leaves no trace
        rest = rest[cut:]
    assert drawn(pieces) == drawn(whole)


def test_what_is_settled_is_not_drawn_again() -> None:
    flow = MarkdownLines(40)
    flow.feed("first\n\nsecond")
    settled = flow.settled_lines[0]
    flow.feed(" and more\n\nthird")
    assert flow.settled_lines[0] is settled
    assert drawn(flow) == ["first", "", "second and more", "", "third"]


def test_a_code_block_that_is_still_open_is_code() -> None:
    flow = MarkdownLines(40)
    flow.feed("look:\n```python\nx = 1\n")
    assert drawn(flow) == ["look:", "│ x = 1"]
    flow.feed("```")
    assert drawn(flow) == ["look:", "│ x = 1"]
    flow.feed("\nafter")
    assert drawn(flow) == ["look:", "│ x = 1", "after"]


def test_a_paragraph_without_an_end_is_drawn_in_time_that_grows_with_its_length_alone() -> None:
    flow = MarkdownLines(80)
    began = time.process_time()
    for _ in range(200):
        flow.feed("x" * 5000)
        _ = len(flow.settled_lines)
    assert sum(len(line.plain) for line in flow.lines) == 1_000_000
    assert time.process_time() - began < patience(8)  # quadratic work would take minutes
