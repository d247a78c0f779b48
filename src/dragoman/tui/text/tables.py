"""A table of markdown: columns side by side where they fit, else row by row."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from dragoman.tui.text.lines import hanging, plain, wrap_content

NARROWEST = 4
"""Cells of a column that is still worth having."""


def draw_table(
    head: Sequence[Content], rows: Sequence[Sequence[Content]], width: int, *, with_head: bool = True
) -> list[Content]:
    """Every row has as many cells as the head."""
    table = (head, *rows)
    widths = _widths(table, width - 3 * (len(table[0]) - 1))
    if widths is None:
        return _one_below_the_other(table, width)
    lines: list[Content] = []
    if with_head:
        lines += _row(table[0], widths)
        lines.append(plain("─┼─".join("─" * width for width in widths), "dim"))
    for row in table[1:]:
        lines += _row(row, widths)
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


def _row(row: Sequence[Content], widths: Sequence[int]) -> list[Content]:
    columns = [wrap_content(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for at in range(max(len(column) for column in columns)):
        cells = [
            _pad(column[at] if at < len(column) else Content(""), width)
            for column, width in zip(columns, widths, strict=True)
        ]
        lines.append(plain(" │ ", "dim").join(cells))
    return lines


def _pad(cell: Content, width: int) -> Content:
    return cell + " " * max(0, width - cell.cell_length)


def _one_below_the_other(table: Sequence[Sequence[Content]], width: int) -> list[Content]:
    heading, *rows = table
    lines: list[Content] = []
    for row in rows or [heading]:
        for name, cell in zip(heading, row, strict=True):
            lines += hanging(cell, width, name + ": ", Content("  "))
        lines.append(plain("─" * min(width, 12), "dim"))
    return lines
