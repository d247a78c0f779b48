"""Markdown that grows: the same blocks as of the whole, for work that grows with the text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text import markdown_stream
from dragoman.text.markdown import Block, CodeBlock, ItemList, Paragraph, Table, parse
from dragoman.text.markdown_stream import OPEN, MarkdownStream
from dragoman_app.tui.text.markdown import MarkdownLines
from tests.text.drawing import markdown
from tests.text.samples import SAMPLES


def blocks_of(text: str, *, size: int) -> list[Block]:
    stream, found = MarkdownStream(), []
    for start in range(0, len(text), size):
        found += stream.feed(text[start : start + size])
    return [*found, *stream.finish()]


def drawn(text: str, *, size: int) -> list[str]:
    flow = MarkdownLines(60)
    for start in range(0, len(text), size):
        flow.feed(text[start : start + size])
    return [line.plain for line in flow.lines]


@pytest.mark.parametrize("size", [1, 2, 7])
def test_every_sample_looks_the_same_however_it_comes(size: int) -> None:
    for name, (source, shown) in SAMPLES.items():
        # A definition of a link that comes after its use is not known yet when the use is finished.
        if name != "a link by reference":
            assert drawn(source, size=size) == shown, name


@given(st.lists(st.sampled_from([source for source, _ in SAMPLES.values()]), max_size=6), st.integers(1, 40))
def test_texts_one_after_the_other_look_like_the_whole(sources: list[str], size: int) -> None:
    text = "\n\n".join(source for source in sources if "[C]: y" not in source)
    assert drawn(text, size=size) == [line.plain for line in markdown(text, 60)]


def test_what_is_finished_is_given_out_once_and_at_once() -> None:
    stream = MarkdownStream()
    assert stream.feed("one\n") == []
    assert [block.spans[0].text for block in stream.feed("\n") if isinstance(block, Paragraph)] == ["one"]
    assert stream.feed("# two") == []
    assert len(stream.feed("\n")) == 1
    assert stream.open == []


def test_half_of_a_line_finishes_nothing() -> None:
    stream = MarkdownStream()
    assert stream.feed("one\n#") == []
    assert stream.feed("two\n\n") != []
    assert drawn("one\n#two", size=5) == ["one", "#two"]


def test_definitions_of_links_hold_for_what_comes_later() -> None:
    assert drawn("[a]: http://x\n\nsee [a]\n\nand [a]\n", size=3) == [
        "see a (http://x)",
        "",
        "and a (http://x)",
    ]


def test_numbers_go_on_when_items_are_given_out_one_by_one() -> None:
    text = "".join(f"1. item {number}\n" for number in range(1, 600))
    assert drawn(text, size=20) == [f"{number}. item {number}" for number in range(1, 600)]


@pytest.mark.parametrize("size", [20, 10_000, 1_000_000])
def test_code_without_an_end_stays_code(size: int) -> None:
    lines = [f"# line {number}" for number in range(2000)]
    blocks = blocks_of("```py\n" + "\n".join(lines) + "\n```\nend", size=size)
    assert all(isinstance(block, CodeBlock) and block.language == "py" for block in blocks[:-1])
    assert [line for block in blocks[:-1] for line in block.text.split("\n") if line] == lines  # type: ignore[union-attr]
    assert isinstance(blocks[-1], Paragraph)


@pytest.mark.parametrize("size", [20, 1_000_000])
def test_code_in_an_item_stays_in_its_item(size: int) -> None:
    code = "".join(f"   # line {number}\n" for number in range(1000))
    shown = drawn(f"7. see\n\n   ```\n{code}   ```\n8. next\n", size=size)
    assert shown[:3] == ["7. see", "", "   │ # line 0"]
    assert shown[-2:] == ["   │ # line 999", "8. next"]
    assert len(shown) == 1003


@pytest.mark.parametrize("size", [20, 1_000_000])
def test_a_table_without_an_end_stays_a_table(size: int) -> None:
    rows = "".join(f"| {number} | x |\n" for number in range(1000))
    blocks = blocks_of(f"| a | b |\n|---|---|\n{rows}", size=size)
    assert all(isinstance(block, Table) and len(block.head) == 2 for block in blocks)
    assert sum(len(block.rows) for block in blocks if isinstance(block, Table)) == 1000
    assert [block.is_continued for block in blocks if isinstance(block, Table)] == [False] + [True] * (
        len(blocks) - 1
    )


def test_a_long_list_is_given_out_item_by_item() -> None:
    stream, text = MarkdownStream(), "- an item\n" * 3000
    found = [block for start in range(0, len(text), 20) for block in stream.feed(text[start : start + 20])]
    assert all(isinstance(block, ItemList) for block in found)
    assert sum(len(block.items) for block in stream.open if isinstance(block, ItemList)) < 100


KINDS = {
    "prose": "Some *words* in a paragraph with `code` and [a link](http://x.org) in it.\n\n",
    "one paragraph": "Some *words* in a line that never ends. ",
    "short lines": "a few words\n",
    "one list": "- an item with *words*\n",
    "one fence": "some code in a fence that was opened\n",
    "quotes": "> said\n",
    "open marks": "*a _b [c `d ~~e <f ",
    "brackets": "[[[[",
}


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_small_pieces_each_character_is_read_a_few_times_at_most(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ("```\n" if kind == "one fence" else "") + KINDS[kind] * (3 * OPEN // len(KINDS[kind]))
    stream, read = MarkdownStream(), 0

    def counting(source: str, **more: Any) -> list[Block]:
        nonlocal read
        read += len(source)
        return parse(source, **more)

    monkeypatch.setattr(markdown_stream, "parse", counting)
    for start in range(0, len(text), 20):
        stream.feed(text[start : start + 20])
        assert len(stream._source) <= OPEN
    assert read <= 4 * len(text)  # reading all that is open for every piece would be a hundred times
