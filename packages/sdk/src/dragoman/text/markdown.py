"""Parses Markdown: CommonMark with tables, strikethrough and task lists, read by markdown-it-py.

`parse` gives the blocks of a text; `text.markdown_stream` those of a text that still grows.

All text in the blocks is sanitized, also what stood there as an entity. Nothing is fetched, no link is
dropped: the address of a link stands beside its text, so that a person sees where it leads. HTML is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dragoman.text.sanitize import sanitize, sanitize_line

Style: TypeAlias = Literal["strong", "emphasis", "strike", "code", "link", "address", "html"]

DEEPEST: Final = 40
"""The most nested containers. Deeper ones become text: the parser would drop them."""


MOST_BRACKETS: Final = 400
"""The most brackets in a text with links: each bracket is searched to the end of its paragraph."""


class TextSpan(NamedTuple):
    """A text in a block; a line break is its own span."""

    text: str
    styles: tuple[Style, ...] = ()


class Paragraph(NamedTuple):
    line: int
    """The line where the block begins in the parsed text; every block has it."""
    gap: bool
    """Whether a blank line comes before the block; every block has it."""
    spans: tuple[TextSpan, ...]


class Heading(NamedTuple):
    line: int
    gap: bool
    level: int
    spans: tuple[TextSpan, ...]


class CodeBlock(NamedTuple):
    line: int
    gap: bool
    text: str
    language: str
    fence: bool
    """Whether the code is between fences; otherwise it is indented."""
    is_closed: bool
    is_continued: bool = False
    """Whether the beginning of the block was returned before."""
    info: str = ""
    """The text after the opening fence; the language is its first word."""


class HtmlBlock(NamedTuple):
    line: int
    gap: bool
    text: str


class ThematicBreak(NamedTuple):
    line: int
    gap: bool


class BlockQuote(NamedTuple):
    line: int
    gap: bool
    blocks: tuple[Block, ...]


class ListItem(NamedTuple):
    line: int
    gap: bool
    number: int | None
    """The number in an ordered list, as counted."""
    delimiter: str
    """The character after the number, or the bullet as written."""
    is_checked: bool | None
    """Whether a task is done; None for every other item."""
    blocks: tuple[Block, ...]
    is_continued: bool = False
    """Whether the beginning of the item was returned before."""

    @property
    def marker(self) -> str:
        return self.delimiter if self.number is None else f"{self.number}{self.delimiter}"


class ItemList(NamedTuple):
    line: int
    gap: bool
    items: tuple[ListItem, ...]


Alignment: TypeAlias = Literal["left", "center", "right"]


class Table(NamedTuple):
    line: int
    gap: bool
    head: tuple[tuple[TextSpan, ...], ...]
    rows: tuple[tuple[tuple[TextSpan, ...], ...], ...]
    alignments: tuple[Alignment, ...]
    """The alignment of each column."""
    is_continued: bool = False
    """Whether the head of the table was returned before."""


Block: TypeAlias = Paragraph | Heading | CodeBlock | HtmlBlock | ThematicBreak | BlockQuote | ItemList | Table

_BLANK = re.compile(r"[ \t>]*\Z")
_DEEP = re.compile(
    rf"^(?:[ \t]*(?:>|[-+*][ \t]|\d{{1,9}}[.)][ \t])){{{DEEPEST},}}|^[ ]{{{4 * DEEPEST}}}[ ]*\S", re.M
)
_TASK = re.compile(r"\[([ xX])\](?:[ \t]+|\Z)")
_STYLES: Final[dict[str, Style]] = {"strong": "strong", "em": "emphasis", "s": "strike"}


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": 4 * DEEPEST}).enable(["table", "strikethrough"])
    # Links are shown and never followed, so that each may be shown, as it was written.
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return reader


_READER: Final = _reader()
_READER_WITHOUT_LINKS: Final = _reader().disable(["link", "image"])


def normalize(text: str) -> str:
    """Return the text with one kind of line end and a visible NUL, which the parser would replace."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "␀")


def parse(text: str, *, references: dict[str, Any] | None = None) -> list[Block]:
    """Parse a normalized text into blocks. `references` are the earlier link definitions; those of the text
    are added.
    """
    if _DEEP.search(text):
        return [Paragraph(0, text.startswith("\n"), tuple(_lines_as_spans(text.strip("\n"))))]
    reader = _READER if text.count("[") <= MOST_BRACKETS else _READER_WITHOUT_LINKS
    tokens = reader.parse(text, {"references": {} if references is None else references})
    return list(_Builder(tokens, text.split("\n")).blocks())


def _lines_as_spans(text: str) -> Iterator[TextSpan]:
    for number, line in enumerate(text.split("\n")):
        if number:
            yield TextSpan("\n")
        yield TextSpan(sanitize(line))


class _Builder:
    """From tokens to blocks."""

    def __init__(self, tokens: Sequence[Token], lines: list[str]) -> None:
        self._tokens = tokens
        self._lines = lines
        self._at = 0

    def blocks(self, end: str = "") -> Iterator[Block]:
        """Up to the token that closes what they stand in."""
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == end:
                return
            yield self._block(token)

    def _block(self, token: Token) -> Block:
        line, end = token.map or (0, 0)
        gap = line > 0 and _BLANK.match(self._lines[line - 1]) is not None
        match token.type:
            case "heading_open":
                return Heading(line, gap, int(token.tag[1]), self._spans())
            case "fence":
                count = token.content.count("\n") + (token.content[-1:] not in ("", "\n"))
                is_closed = end - line > count + 1
                info = sanitize_line(token.info.strip())
                language = info.partition(" ")[0]
                code = _code(token)
                return CodeBlock(line, gap, code, language, fence=True, is_closed=is_closed, info=info)
            case "code_block":
                return CodeBlock(line, gap, _code(token), "", fence=False, is_closed=False)
            case "hr":
                return ThematicBreak(line, gap)
            case "blockquote_open":
                return BlockQuote(line, gap, tuple(self.blocks("blockquote_close")))
            case "bullet_list_open" | "ordered_list_open":
                return ItemList(line, gap, tuple(self._items(token)))
            case "table_open":
                alignments = tuple(self._alignments())
                head, *rows = self._rows()
                return Table(line, gap, head, tuple(rows), alignments)
            case "paragraph_open":
                return Paragraph(line, gap, self._spans())
        return HtmlBlock(line, gap, sanitize(token.content.rstrip("\n")))

    def _spans(self) -> tuple[TextSpan, ...]:
        """Of the inline token that stands here; the token that closes its block is skipped."""
        inline = self._tokens[self._at]
        self._at += 2
        return tuple(_inline(inline.children or ()))

    def _items(self, opening: Token) -> Iterator[ListItem]:
        kind = opening.type.removesuffix("_open")
        number = int(opening.attrs.get("start", 1)) if kind == "ordered_list" else None
        while (token := self._tokens[self._at]).type != f"{kind}_close":
            self._at += 1
            line = token.map[0] if token.map else 0
            gap = line > 0 and _BLANK.match(self._lines[line - 1]) is not None
            is_checked, blocks = _task(tuple(self.blocks("list_item_close")))
            yield ListItem(line, gap, number, token.markup, is_checked, blocks)
            number = None if number is None else number + 1
        self._at += 1

    def _alignments(self) -> Iterator[Alignment]:
        """Of the columns of the table that begins here."""
        for token in self._tokens[self._at :]:
            if token.type == "tr_close":
                return
            if token.type == "th_open":
                style = str(token.attrs.get("style", ""))
                yield "right" if style.endswith("right") else "center" if style.endswith("center") else "left"

    def _rows(self) -> Iterator[tuple[tuple[TextSpan, ...], ...]]:
        row: list[tuple[TextSpan, ...]] = []
        while (token := self._tokens[self._at]).type != "table_close":
            self._at += 1
            if token.type == "inline":
                row.append(tuple(_inline(token.children or ())))
            elif token.type == "tr_close":
                yield tuple(row)
                row = []
        self._at += 1


def _code(token: Token) -> str:
    return sanitize(token.content.removesuffix("\n"))


def _task(blocks: tuple[Block, ...]) -> tuple[bool | None, tuple[Block, ...]]:
    if blocks and isinstance(first := blocks[0], Paragraph) and first.spans:
        span = first.spans[0]
        if not span.styles and (match := _TASK.match(span.text)):
            rest = (TextSpan(span.text[match.end() :]), *first.spans[1:])
            return match[1] != " ", (first._replace(spans=rest), *blocks[1:])
    return None, blocks


def _inline(tokens: Sequence[Token]) -> Iterator[TextSpan]:
    styles: tuple[Style, ...] = ()
    targets: list[tuple[str, list[str]]] = []  # of the links that are open, with the texts within them
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        if token.type == "link_open":
            targets.append((_address(token, "href"), []))
            styles = (*styles, "link")
        elif token.type == "link_close":
            styles = styles[:-1]
            target, texts = targets.pop()
            yield from _target("".join(texts), target, styles)
        elif end in ("open", "close") and name in _STYLES:
            styles = (*styles, _STYLES[name]) if end == "open" else styles[:-1]
        else:
            for span in _leaf(token, styles):
                for _, texts in targets:
                    texts.append(span.text)
                yield span


def _leaf(token: Token, styles: tuple[Style, ...]) -> Iterator[TextSpan]:
    match token.type:
        case "softbreak" | "hardbreak":
            yield TextSpan("\n", styles)
        case "code_inline":
            yield TextSpan(sanitize_line(token.content), (*styles, "code"))
        case "image":
            yield TextSpan("[image] ", (*styles, "address"))
            text = "".join(span.text for span in _inline(token.children or ()))
            if text:
                yield TextSpan(text, (*styles, "link"))
            yield from _target(text, _address(token, "src"), styles)
        case "html_inline":
            yield TextSpan(sanitize(token.content), (*styles, "html"))
        case _:
            if token.content:
                yield TextSpan(sanitize(token.content), styles)


def _address(token: Token, name: str) -> str:
    return sanitize_line(str(token.attrs.get(name, "")), exact=True)


def _target(text: str, target: str, styles: tuple[Style, ...]) -> Iterator[TextSpan]:
    """Where a link leads, unless its text says so."""
    if not text and target:
        yield TextSpan(target, (*styles, "link"))
    elif target and target not in (text, f"mailto:{text}"):
        yield TextSpan(f" ({target})", (*styles, "address"))
