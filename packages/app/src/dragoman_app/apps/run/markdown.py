"""Markdown for a terminal that prints text as it arrives and can't change it later.

Blocks that are finished are printed whole. Of a paragraph that is still being written, words are printed as
soon as nothing behind them can change their style, and of code whole lines, so that nobody waits for the end
of a long answer. Lines are not wrapped: a terminal does that.

Two things are only known when their second line comes, and by then the first may have been printed: a heading
that is underlined stays without its style, and a table whose first row does not begin with `|` begins again
on a new line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from dragoman.text.cells import cell_width
from dragoman.text.markdown import (
    Block,
    BlockQuote,
    CodeBlock,
    Heading,
    HtmlBlock,
    ItemList,
    Paragraph,
    Style,
    Table,
    TextSpan,
)
from dragoman.text.markdown_stream import MarkdownStream

BOLD, DIM, ITALIC, CODE, HEADING, RESET = "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[36m", "\x1b[1;4m", "\x1b[0m"
UNDERLINE, STRIKE = "\x1b[4m", "\x1b[9m"

_STYLES: Final[dict[Style, str]] = {
    "strong": BOLD,
    "emphasis": ITALIC,
    "strike": STRIKE,
    "code": CODE,
    "link": UNDERLINE,
    "address": DIM,
    "html": DIM,
}
# What may still become a mark, an entity, a table, a rule or a heading when more text comes.
_MAY_CHANGE: Final = re.compile(
    r"\*(?!\s)|(?<!\w)_(?!\s)|[`\[|\\~]|!\Z|<(?![\s\d])|&(?=[#\w]|\Z)|\A[-=][-= ]*\Z"
)

LAZY: Final = 4
"""An open block is parsed again when it has grown by this fraction: parsing a long one takes longer."""


class StyledText(NamedTuple):
    """A text in one style."""

    text: str
    style: str = ""

    def __str__(self) -> str:
        return f"{self.style}{self.text}{RESET}" if self.style and self.text.strip() else self.text


class MarkdownPrinter:
    """One stream of Markdown."""

    def __init__(self) -> None:
        self._stream = MarkdownStream()
        self._open_text = ""  # of the open blocks, without styles
        self._has_finished = False
        self._unread = self._length = 0

    def feed(self, piece: str) -> str:
        """Return the text that can be shown now."""
        finished_blocks = self._stream.feed(piece)
        self._unread += len(piece)
        self._length = len(piece) if finished_blocks else self._length + len(piece)
        if not finished_blocks and LAZY * self._unread < self._length:
            return ""
        self._unread = 0
        return self._print(finished_blocks) + self._print_open(self._stream.open)

    def finish(self) -> str:
        """Return the rest, to the end of its line."""
        return self._print(self._stream.finish())

    def _print(self, blocks: Sequence[Block]) -> str:
        pieces = self._pieces(blocks)
        text = "".join(piece.text for piece in pieces)
        self._has_finished |= bool(blocks)
        if self._open_text.startswith(text):
            self._open_text = self._open_text[len(text) :]
            return ""
        shown_text, self._open_text = self._open_text, ""
        if text.startswith(shown_text):
            return _style_range(pieces, len(shown_text), len(text))
        return "\n" + _style_range(pieces, 0, len(text))

    def _print_open(self, blocks: Sequence[Block]) -> str:
        if not blocks:
            return ""
        pieces = self._pieces(blocks)
        text = "".join(piece.text for piece in pieces)
        end = _stable(blocks, text)
        if end <= len(self._open_text) or not text.startswith(self._open_text):
            return ""
        shown_length, self._open_text = len(self._open_text), text[:end]
        return _style_range(pieces, shown_length, end)

    def _pieces(self, blocks: Sequence[Block]) -> list[StyledText]:
        pieces: list[StyledText] = []
        for block in blocks:
            if block.gap and (pieces or self._has_finished):
                pieces.append(StyledText("\n"))
            for line in _lines(block):
                pieces += [*line, StyledText("\n")]
        return pieces


def _style_range(pieces: Sequence[StyledText], start: int, end: int) -> str:
    """The pieces between two places of their text."""
    out, at = [], 0
    for piece in pieces:
        text = piece.text[max(0, start - at) : max(0, end - at)]
        at += len(piece.text)
        out.append(str(piece._replace(text=text)))
    return "".join(out)


def _stable(blocks: Sequence[Block], text: str) -> int:
    """How much of the text of open blocks cannot change any more."""
    last = blocks[-1]
    while isinstance(last, BlockQuote | ItemList):
        inner = last.blocks if isinstance(last, BlockQuote) else last.items[-1].blocks
        if not inner:
            return 0
        last = inner[-1]
    if isinstance(last, CodeBlock) and last.fence:
        return text.rstrip("\n").rfind("\n") + 1
    if not isinstance(last, Paragraph):
        return 0
    lines = text.removesuffix("\n").split("\n")
    paragraph_lines = "".join(span.text for span in last.spans).split("\n")
    number, column = _stable_place(last.spans)
    if not column:
        return 0
    at = len(lines) - len(paragraph_lines) + number
    before = len(lines[at]) - len(paragraph_lines[number])  # what stands before the line: a bar, a bullet
    return sum(len(line) + 1 for line in lines[:at]) + before + column


def _stable_place(spans: Sequence[TextSpan]) -> tuple[int, int]:
    """Line and column in a paragraph behind the last text whose style no other text can change."""
    place, line, column = (0, 0), 0, 0
    for span in spans:
        if span.text == "\n":
            line, column = line + 1, 0
            continue
        if "code" not in span.styles:
            # Between marks only an open code span can change: it takes the marks into itself.
            match = re.search("`" if span.styles else _MAY_CHANGE, span.text)
            sure = span.text[: match.start()] if match else span.text
            if sure and not span.styles:
                place = line, column + len(sure)
            if match:
                break
        column += len(span.text)
    return place


def _lines(block: Block) -> Iterator[list[StyledText]]:
    match block:
        case Paragraph(spans=spans):
            yield from _text(spans)
        case Heading(spans=spans):
            yield from _text(spans, HEADING)
        case CodeBlock():
            yield from _code(block)
        case HtmlBlock(text=text):
            yield from ([StyledText(line, DIM)] for line in text.split("\n"))
        case BlockQuote(blocks=blocks):
            for line in _nested_lines(blocks):
                yield [StyledText("│ ", DIM), *(piece._replace(style=DIM + piece.style) for piece in line)]
        case ItemList():
            yield from _items(block)
        case Table():
            yield from _table(block)
        case _:
            yield [StyledText("─" * 24, DIM)]


def _nested_lines(blocks: Sequence[Block]) -> Iterator[list[StyledText]]:
    for number, block in enumerate(blocks):
        if number and block.gap:
            yield []
        yield from _lines(block)


def _text(spans: Sequence[TextSpan], style: str = "") -> Iterator[list[StyledText]]:
    line: list[StyledText] = []
    for span in spans:
        if span.text == "\n":
            yield line
            line = []
        else:
            line.append(StyledText(span.text, style + "".join(_STYLES[name] for name in span.styles)))
    yield line


def _code(block: CodeBlock) -> Iterator[list[StyledText]]:
    if block.fence and not block.is_continued:
        yield [StyledText(f"```{block.info}", DIM)]
    before = "" if block.fence else "    "
    if block.text:
        yield from ([StyledText(before + line, CODE)] for line in block.text.split("\n"))
    if block.is_closed:
        yield [StyledText("```", DIM)]


def _items(block: ItemList) -> Iterator[list[StyledText]]:
    for number, item in enumerate(block.items):
        if number and item.gap:
            yield []
        mark = "•" if item.number is None else item.marker
        if item.is_checked is not None:
            mark = "☑" if item.is_checked else "☐"
        space = " " * (len(mark) + 1)
        before = space if item.is_continued else f"{mark} "
        for line in [*_nested_lines(item.blocks)] or [[]]:
            yield [StyledText(before), *line] if line or before != space else []
            before = space


def _table(block: Table) -> Iterator[list[StyledText]]:
    rows = [[next(_text(cell)) for cell in row] for row in (block.head, *block.rows)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        if number or not block.is_continued:
            yield list(_row(row, widths))
        if not number and not block.is_continued:
            yield [StyledText("─┼─".join("─" * width for width in widths), DIM)]


def _row(cells: Sequence[Sequence[StyledText]], widths: Sequence[int]) -> Iterator[StyledText]:
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        if number:
            yield StyledText(" │ ", DIM)
        yield from cell
        if number < len(widths) - 1:
            yield StyledText(" " * (width - _width(cell)))


def _width(cell: Sequence[StyledText]) -> int:
    return sum(cell_width(piece.text) for piece in cell)
