"""Markdown is read as CommonMark says."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from dragoman.text.markdown import (
    DEEPEST,
    Block,
    BlockQuote,
    CodeBlock,
    Heading,
    HtmlBlock,
    ItemList,
    Paragraph,
    Table,
    TextSpan,
    normalize,
    parse,
)
from tests.every import every
from tests.text.drawing import markdown
from tests.text.samples import SAMPLES

REFERENCE = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TAGS = {"strong": "strong", "emphasis": "em", "strike": "s", "code": "code", "link": "a"}


@every(("source", "shown"), SAMPLES.values(), ids=SAMPLES)
def test_a_terminal_shows(source: str, shown: list[str]) -> None:
    assert [line.plain for line in markdown(source, 60)] == shown


class Outline(HTMLParser):
    """The tags of a page, paragraphs and line breaks aside."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("p", "br", "thead", "tbody") and not (tag == "code" and self.tags[-1:] == ["pre"]):
            self.tags.append(tag)


def outline(blocks: tuple[Block, ...] | list[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Heading(level=level, spans=spans):
                yield f"h{level}"
                yield from styles(spans)
            case Paragraph(spans=spans):
                yield from styles(spans)
            case CodeBlock():
                yield "pre"
            case BlockQuote(blocks=inner):
                yield "blockquote"
                yield from outline(inner)
            case ItemList(items=items):
                yield "ul" if items[0].number is None else "ol"
                for item in items:
                    yield "li"
                    yield from outline(item.blocks)
            case Table(head=head, rows=rows):
                yield "table"
                for number, row in enumerate((head, *rows)):
                    yield "tr"
                    for cell in row:
                        yield "td" if number else "th"
                        yield from styles(cell)
            case HtmlBlock():
                pass
            case _:
                yield "hr"


def styles(spans: tuple[TextSpan, ...]) -> Iterator[str]:
    """Where a style begins."""
    before: tuple[str, ...] = ()
    for span in spans:
        now = tuple(TAGS[style] for style in span.styles if style in TAGS)
        shared = next((n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), None)
        yield from now[min(len(before), len(now)) if shared is None else shared :]
        before = now


# Pictures are a link to us and no tag of their own, and what is HTML already is text to us.
COMPARED = {
    name: source
    for name, (source, _) in SAMPLES.items()
    if not re.search(r"html|comment|picture|tasks", name)
}


@every("source", COMPARED.values(), ids=COMPARED)
def test_the_structure_is_that_of_the_reference(source: str) -> None:
    reference = Outline()
    reference.feed(REFERENCE.render(source))
    assert list(outline(parse(normalize(source)))) == reference.tags


def test_every_link_is_shown_wherever_it_leads() -> None:
    source = "[a](javascript:x) ![b](file:///etc/passwd) [c](data:text/html,d)"
    assert [line.plain for line in markdown(source, 90)] == [
        "a (javascript:x) [image] b (file:///etc/passwd) c (data:text/html,d)"
    ]


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_what_is_nested_too_deeply_is_text_and_not_lost(mark: str) -> None:
    for depth in (DEEPEST - 1, DEEPEST + 1, 1000):
        shown = "".join(line.plain for line in markdown(f"{mark * depth}word", 400))
        assert "word" in shown


def test_a_table_with_many_columns_shows_all_of_them() -> None:
    names = [f"n{number}" for number in range(30)]
    source = f"|{'|'.join(names)}|\n{'|-' * 30}|\n|{'|'.join(names)}|"
    shown = "\n".join(line.plain for line in markdown(source, 60))
    assert all(f"{name}: {name}" in shown for name in names)
