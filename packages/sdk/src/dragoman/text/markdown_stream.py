"""Parses Markdown that is still being written.

A block that nothing can change any more is given out once, in order. What is open is bounded: a block that
does not end is finished by force, and what follows goes on as the same block (code stays code, a table keeps
its head, an item its place in the list). So the work grows with the text and not with its square.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

from dragoman.text.markdown import (
    Block,
    BlockQuote,
    CodeBlock,
    Heading,
    ItemList,
    ListItem,
    Paragraph,
    Table,
    ThematicBreak,
    normalize,
    parse,
)

OPEN: Final = 4000
"""The most characters of unfinished blocks; above this limit they are closed, at a line
end if there is one.
"""

CHEAP: Final = 200
"""The most characters to parse again at every line end."""

_BLANK_LINE = re.compile(r"(?:\A|\n)[ \t]*\n\Z")
_MARKER = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]{1,4}(?=[^ \t])|[ \t]|\Z)")

_B = TypeVar("_B", bound=Block)


class MarkdownStream:
    """A text that is parsed while it grows."""

    def __init__(self) -> None:
        self._source = ""  # what is open
        self._pending = ""
        self._context: list[str] = []
        """Lines that stand for the beginning of the open block, which was given out."""
        self._number: int | None = None
        """Of the open item, whose list began before."""
        self._references: dict[str, Any] = {}
        self._worth = 0
        self._open: list[Block] | None = []

    def feed(self, piece: str) -> list[Block]:
        """Return the blocks that are finished now."""
        text, self._pending = self._pending + piece, ""
        if text.endswith("\r"):  # half of a line end, perhaps
            text, self._pending = text[:-1], "\r"
        text = normalize(text)
        blocks: list[Block] = []
        for start in range(0, len(text), OPEN):
            blocks += self._add(text[start : start + OPEN])
        return blocks

    def finish(self) -> list[Block]:
        """Return the remaining blocks."""
        if self._pending:
            self._source, self._pending, self._open = f"{self._source}\n", "", None
        blocks = self.open
        self._cut(len(self._source))
        self._source = ""
        return blocks

    @property
    def open(self) -> list[Block]:
        """The blocks that may still change."""
        if self._open is None:
            # A definition may be half of one still.
            self._open = self._continue_blocks(self._read(self._source, dict(self._references)))
        return self._open

    def _add(self, text: str) -> list[Block]:
        self._source += text
        self._open = None
        blocks: list[Block] = []
        # A blank line ends most blocks. Without one it is not worth looking until there is twice as much.
        if "\n" in text and (len(self._source) >= self._worth or "\n\n" in self._source[-len(text) - 1 :]):
            blocks += self._settle(self._source[: self._source.rfind("\n") + 1])
        while len(self._source) > OPEN:
            blocks += self._force()
        return blocks

    def _read(self, text: str, references: dict[str, Any]) -> list[Block]:
        context = "".join(f"{line}\n" for line in self._context)
        return parse(context + text, references=references) if text else []

    def _settle(self, text: str) -> list[Block]:
        """Finish what stands before the last block, and the last one if nothing can be added to it.

        Only whole lines are looked at: half of one may look like a heading, and all of it be none.
        """
        blocks = self._read(text, self._references)
        if not blocks:
            return []
        last, end, number = blocks[-1], 0, None
        if _is_closed(last, text):
            end = len(text)
        elif isinstance(last, ItemList) and len(last.items) > 1:
            blocks[-1] = last._replace(items=last.items[:-1])
            end, number = self._offset(last.items[-1].line), self._last_number(last, len(blocks))
        else:
            blocks.pop()
            end = self._offset(last.line) if blocks else 0
        finished_blocks = self._continue_blocks(blocks) if end else []
        if end:
            self._cut(end)
            self._number = number
        self._worth = 2 * len(self._source) if len(self._source) > CHEAP else 0
        return finished_blocks

    def _force(self) -> list[Block]:
        end = self._source.rfind("\n", 0, OPEN) + 1
        end = end if end >= OPEN // 2 else OPEN
        text = self._source[:end]
        blocks = self._read(text, self._references)
        context = _context_of(blocks[-1], [*self._context, *text.split("\n")]) if blocks else []
        number = None
        if context and isinstance(last := blocks[-1], ItemList):
            number = self._last_number(last, len(blocks))
        finished_blocks, rest = self._continue_blocks(blocks), self._source[end:]
        self._cut(end)
        if context:
            self._source, self._context, self._number = rest, context, number
        return finished_blocks

    def _last_number(self, last: ItemList, blocks: int) -> int | None:
        """The number of its last item."""
        number = last.items[-1].number
        if number is None or self._number is None or blocks > 1 or last.items[0].number is None:
            return number
        return self._number + number - last.items[0].number

    def _continue_blocks(self, blocks: list[Block]) -> list[Block]:
        """The first of them as what it is: the rest of something."""
        if not blocks:
            return []
        first, *following = blocks
        if self._number is not None and isinstance(first, ItemList):
            first = first._replace(
                items=tuple(item._replace(number=self._number + at) for at, item in enumerate(first.items))
            )
        rest = _rest_of(first, len(self._context)) if self._context else first
        return following if rest is None else [rest, *following]

    def _offset(self, line: int) -> int:
        """Where a line of what was read begins in the open text."""
        at = 0
        for _ in range(line - len(self._context)):
            at = self._source.index("\n", at) + 1
        return at

    def _cut(self, end: int) -> None:
        # The blank line before the next block stays: it says that there is a gap.
        blank = "\n" if _BLANK_LINE.search(self._source, 0, end) else ""
        self._source = blank + self._source[end:]
        self._context, self._number, self._worth, self._open = [], None, 0, None


def _is_closed(block: Block, text: str) -> bool:
    match block:
        case Heading() | ThematicBreak():
            return True
        case CodeBlock():
            return block.fence and block.is_closed
        case Paragraph() | BlockQuote() | Table():
            return _BLANK_LINE.search(text) is not None
    return False


def _context_of(block: Block, lines: list[str]) -> list[str]:
    """Lines before which the rest of a block must stand to be read as what it is."""
    match block:
        case CodeBlock(fence=True, is_closed=False):
            return [lines[block.line]]
        case Table():
            return lines[block.line : block.line + 2]
        case BlockQuote(blocks=(*_, last)):
            return _context_of(last, lines)
        case ItemList(items=(*_, item)) if marker := _MARKER.match(lines[item.line]):
            inner = _context_of(item.blocks[-1], lines) if item.blocks else []
            before = marker[0].expandtabs(4)
            return [f"{before}x" if before.endswith(" ") else f"{before} x", "", *inner]
    return []


def _rest_of(block: Block, context: int) -> Block | None:
    """A block whose first lines are those of the context; None if nothing else is in it."""
    match block:
        case CodeBlock():
            return _without_gap(block)._replace(is_continued=True) if block.text or block.is_closed else None
        case Table():
            return _without_gap(block)._replace(is_continued=True) if block.rows else None
        case BlockQuote(blocks=(first, *following)):
            rest = _rest_of(first, context)
            return _without_gap(block)._replace(blocks=(*([] if rest is None else [rest]), *following))
        case ItemList(items=(first, *following)):
            items = (*_rest_of_item(first, context), *following)
            return _without_gap(block)._replace(items=items) if items else None
    return block


def _rest_of_item(item: ListItem, context: int) -> list[ListItem]:
    blocks: list[Block] = list(item.blocks[1:])  # the first is the sign that stands for the beginning
    if blocks:
        first = _rest_of(blocks[0], context) if blocks[0].line < context else _without_gap(blocks[0])
        blocks[:1] = [] if first is None else [first]
    return [item._replace(blocks=tuple(blocks), is_continued=True)] if blocks else []


def _without_gap(block: _B) -> _B:
    return block._replace(gap=False)  # type: ignore[return-value]
