"""A table of Markdown: columns side by side if they fit, otherwise row by row."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from dragoman.text.markdown import Alignment
from dragoman_app.tui.text.lines import hanging, plain, wrap_content

NARROWEST = 4
"""The fewest cells of a useful column."""


def draw_table(
    head: Sequence[Content],
    rows: Sequence[Sequence[Content]],
    width: int,
    *,
    alignments: Sequence[Alignment],
    with_head: bool = True,
) -> list[Content]:
    """Draw a table. Every row must have as many cells as the head, and every column an alignment."""
    table = (head, *rows)
    widths = _widths(table, width - 3 * (len(table[0]) - 1))
    if widths is None:
        return _one_below_the_other(table, width)
    lines: list[Content] = []
    if with_head:
        lines += _row(table[0], widths, alignments)
        lines.append(plain("─┼─".join("─" * width for width in widths), "dim"))
    for row in table[1:]:
        lines += _row(row, widths, alignments)
    return lines


def _widths(table: Sequence[Sequence[Content]], room: int) -> list[int] | None:
    """How wide each column is; None if they have no room side by side."""
    widths = [max(cell.cell_length for cell in column) or 1 for column in zip(*table, strict=True)]
    if room < NARROWEST * len(widths):
        return None
    while sum(widths) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _row(row: Sequence[Content], widths: Sequence[int], alignments: Sequence[Alignment]) -> list[Content]:
    columns = [wrap_content(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for at in range(max(len(column) for column in columns)):
        cells = [
            _pad(column[at] if at < len(column) else Content(""), width, alignment)
            for column, width, alignment in zip(columns, widths, alignments, strict=True)
        ]
        lines.append(plain(" │ ", "dim").join(cells))
    return lines


def _pad(cell: Content, width: int, alignment: Alignment) -> Content:
    room = max(0, width - cell.cell_length)
    before = {"left": 0, "center": room // 2, "right": room}[alignment]
    return Content(" " * before) + cell + " " * (room - before)


def _one_below_the_other(table: Sequence[Sequence[Content]], width: int) -> list[Content]:
    heading, *rows = table
    lines: list[Content] = []
    for row in rows or [heading]:
        for name, cell in zip(heading, row, strict=True):
            lines += hanging(cell, width, name + ": ", Content("  "))
        lines.append(plain("─" * min(width, 12), "dim"))
    return lines
