"""Lines of styled text: pieces with a style, wrapped to a width, with a prefix.

A style is a text that Textual understands (`bold`, `$text-error`, `dim italic`). Nothing here reads markup:
a piece is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from textual.content import Content

from dragoman.text.ansi import Piece, output_pieces
from dragoman.text.cells import word_breaks
from dragoman.text.diff import changed_lines
from dragoman.text.sanitize import sanitize

PIECE_CHARACTERS = 4000
"""The most characters of one line to wrap at words; a longer one is first cut into such pieces, because
searching for words would take too long.
"""


def line(pieces: Sequence[Piece]) -> Content:
    """Return one line of several pieces."""
    if len(pieces) == 1:
        return plain(*pieces[0])
    return Content.assemble(*(piece for piece in pieces if piece[0]))


def plain(text: str, style: str = "") -> Content:
    return Content.styled(text, style) if style else Content(text)


def wrap_content(content: Content, width: int) -> list[Content]:
    """Wrap at words if possible; every character stays."""
    width = max(width, 2)
    if len(content) <= width and content.cell_length <= width:
        return [content]
    text = content.plain
    if text.isascii() and "\n" not in text:
        cuts = word_breaks(text, width)
        if not content.spans:
            return [Content(text[start:end].rstrip(" ")) for start, end in pairwise([0, *cuts, len(text)])]
        return [line.rstrip(" ") for line in content.divide(cuts)]
    if len(content) <= PIECE_CHARACTERS:
        return content.wrap(width)
    pieces = (content[start : start + PIECE_CHARACTERS] for start in range(0, len(content), PIECE_CHARACTERS))
    return [line for piece in pieces for line in piece.wrap(width)]


def output_lines(text: str) -> Iterator[Content]:
    """Return each line of a command's output with its colours, unwrapped."""
    return map(line, output_pieces(text))


def hanging(content: Content, width: int, first: Content, rest: Content | None = None) -> list[Content]:
    """Return wrapped lines with `first` before the first and `rest` (or as much space) before the others."""
    indent = first.cell_length
    following = Content(" " * indent) if rest is None else rest
    lines = wrap_content(content, width - indent)
    return [first + lines[0], *(following + line for line in lines[1:])]


def block(text: str, width: int, *, style: str = "", indent: str = "") -> list[Content]:
    """Return unchanged text, line by line, each wrapped."""
    before = Content(indent)
    lines = sanitize(text).expandtabs(4).split("\n")
    return [part for line in lines for part in hanging(plain(line, style), width, before)]


def cut(text: str, width: int) -> str:
    """Return as much of a line as fits, with a mark if it is cut."""
    content = Content(text)
    return content.truncate(width, ellipsis=True).plain if content.cell_length > width else text


def indent_lines(lines: Iterable[Content], before: str) -> list[Content]:
    first = Content(before)
    return [first + line for line in lines]


# Changes of texts as lines: what goes, what comes, and a little of what stays.
#
# Signs as well as colours, because not every terminal has colours.

ADDED = "$text-success"
REMOVED = "$text-error"


class CountedChange(NamedTuple):
    """A change of one text, with its counts."""

    lines: list[str]
    added_lines: int
    removed_lines: int


@lru_cache(maxsize=32)
def count_changes(old: str | None, new: str) -> CountedChange:
    """Return the lines of a unified diff, without file names. Cached, because a tool call is drawn many times
    with the same change.
    """
    lines = changed_lines(old, new)
    signs = [line[:1] for line in lines]
    return CountedChange(lines, added_lines=signs.count("+"), removed_lines=signs.count("-"))


def diff_lines(lines: Iterable[str], width: int) -> Iterator[Content]:
    """Return lines of a diff, styled and wrapped."""
    for line in lines:
        yield from wrap_content(plain(sanitize(line).expandtabs(4).replace("\n", "␊"), _style(line)), width)


def patch_lines(patch: str, width: int) -> Iterator[Content]:
    """Return a stored patch of a file with its headings."""
    yield from diff_lines(patch.removesuffix("\n").split("\n"), width)


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "old mode", "new mode")):
        return "bold"
    return {"+": ADDED, "-": REMOVED, "@": "dim"}.get(line[:1], "")
