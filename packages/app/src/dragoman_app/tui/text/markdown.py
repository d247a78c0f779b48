"""Blocks of Markdown as lines of a terminal: headings, lists, quotes, code, tables, rules, paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from textual.content import Content
from textual.highlight import highlight

from dragoman.text.markdown import (
    Block,
    BlockQuote,
    CodeBlock,
    Heading,
    HtmlBlock,
    ItemList,
    ListItem,
    Paragraph,
    Style,
    Table,
    TextSpan,
)
from dragoman.text.markdown_stream import MarkdownStream
from dragoman_app.tui.text.lines import hanging, line, plain, wrap_content
from dragoman_app.tui.text.tables import draw_table

HIGHLIGHT_CHARACTERS = 20_000
"""The most characters of code to colour; more would cause a noticeable delay."""

HEADING = "bold $text-primary"
BULLETS = "•◦▪"
NARROWEST = 4
"""The fewest cells for a text at any depth."""

_STYLES: dict[Style, str] = {
    "strong": "bold",
    "emphasis": "italic",
    "strike": "strike",
    "code": "$text-warning",
    "link": "underline",
    "address": "dim",
    "html": "dim",
}


def draw_blocks(blocks: Iterable[Block], width: int, *, depth: int = 0) -> list[Content]:
    """Return blocks as lines of this width; `depth` counts the lists around them."""
    lines: list[Content] = []
    for block in blocks:
        if block.gap and lines:
            lines.append(Content(""))
        lines += _draw(block, max(width, NARROWEST), depth)
    return lines


def _draw(block: Block, width: int, depth: int) -> list[Content]:
    match block:
        case Paragraph(spans=spans):
            return _text(spans, "", width)
        case Heading(level=level, spans=spans):
            return _text(spans, f"{HEADING} underline" if level == 1 else HEADING, width)
        case CodeBlock(text=text, language=language):
            return code(text, width, language=language) if text or not block.is_continued else []
        case HtmlBlock(text=text):
            lines = text.expandtabs(4).split("\n")
            return [part for line in lines for part in wrap_content(plain(line, "dim"), width)]
        case BlockQuote(blocks=blocks):
            bar = plain("▎ ", "dim")
            return [bar + block.stylize("italic") for block in draw_blocks(blocks, width - 2, depth=depth)]
        case ItemList(items=items):
            return list(_list(items, width, depth))
        case Table(head=head, rows=rows, alignments=alignments):
            heading = [_content(cell, "bold") for cell in head]
            body = [[_content(cell) for cell in row] for row in rows]
            has_head = not block.is_continued
            return draw_table(heading, body, width, alignments=alignments, with_head=has_head)
    return [plain("─" * min(width, 40), "dim")]


def _text(spans: Sequence[TextSpan], style: str, width: int) -> list[Content]:
    """Line ends stay line ends: agents mean them, and a terminal breaks what is too long by itself."""
    lines: list[list[TextSpan]] = [[]]
    for span in spans:
        if span.text == "\n":
            lines.append([])
        else:
            lines[-1].append(span)
    return [part for line in lines for part in wrap_content(_content(line, style), width)]


def _content(spans: Sequence[TextSpan], style: str = "") -> Content:
    pieces = []
    for span in spans:
        styles = [style, *(_STYLES[name] for name in span.styles)]
        pieces.append((span.text.expandtabs(4).replace("\n", " "), " ".join(styles).strip()))
    return line(pieces or [("", "")])


def _list(items: Sequence[ListItem], width: int, depth: int) -> Iterator[Content]:
    for number, item in enumerate(items):
        if number and item.gap:
            yield Content("")
        mark = item.marker if item.number is not None else BULLETS[depth % len(BULLETS)]
        if item.is_checked is not None:
            mark = "☑" if item.is_checked else "☐"
        space = Content(" " * (len(mark) + 1))
        before = space if item.is_continued else plain(f"{mark} ", "$text-primary")
        for part in draw_blocks(item.blocks, width - len(mark) - 1, depth=depth + 1) or [Content("")]:
            yield before + part if part or before is not space else part
            before = space


def code(text: str, width: int, *, language: str = "") -> list[Content]:
    """Return code with a bar at its side."""
    bar = plain("│ ", "dim")
    text = text.expandtabs(4)
    is_coloured = bool(language) and len(text) <= HIGHLIGHT_CHARACTERS
    content = highlight(text, language=language.lower()) if is_coloured else Content(text)
    lines = content.split("\n", allow_blank=True) if text else [Content("")]
    return [part for code_line in lines for part in hanging(code_line, width, bar, bar)]


class MarkdownLines:
    """A growing Markdown text at one width: finished blocks are drawn once, open ones again."""

    def __init__(self, width: int) -> None:
        self.settled_lines: list[Content] = []
        self._width = width
        self._stream = MarkdownStream()

    def feed(self, text: str) -> None:
        for block in self._stream.feed(text):
            self.settled_lines += self._draw_blocks([block])

    @property
    def lines(self) -> list[Content]:
        """Return all current lines."""
        return [*self.settled_lines, *self.open_lines]

    @property
    def open_lines(self) -> list[Content]:
        """Return the lines after `settled_lines`; more text may still change them."""
        return self._draw_blocks(self._stream.open)

    def _draw_blocks(self, blocks: list[Block]) -> list[Content]:
        gap = [Content("")] if self.settled_lines and blocks and blocks[0].gap else []
        return [*gap, *draw_blocks(blocks, self._width)]
