"""A table of markdown: columns side by side where they fit, else row by row."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from dragoman.tui.text.lines import hanging, plain, wrapped

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
    found: list[Content] = []
    if with_head:
        found += _row(table[0], widths)
        found.append(plain("─┼─".join("─" * width for width in widths), "dim"))
    for row in table[1:]:
        found += _row(row, widths)
    return found


def _widths(table: Sequence[Sequence[Content]], room: int) -> list[int] | None:
    """How wide each column is; None if they have no room side by side."""
    wanted = [max(cell.cell_length for cell in column) or 1 for column in zip(*table, strict=True)]
    if room < NARROWEST * len(wanted):
        return None
    while sum(wanted) > room:
        widest = max(range(len(wanted)), key=wanted.__getitem__)
        wanted[widest] -= 1
    return wanted


def _row(row: Sequence[Content], widths: Sequence[int]) -> list[Content]:
    columns = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    found = []
    for at in range(max(len(column) for column in columns)):
        cells = [
            _filled(column[at] if at < len(column) else Content(""), width)
            for column, width in zip(columns, widths, strict=True)
        ]
        found.append(plain(" │ ", "dim").join(cells))
    return found


def _filled(cell: Content, width: int) -> Content:
    return cell + " " * max(0, width - cell.cell_length)


def _one_below_the_other(table: Sequence[Sequence[Content]], width: int) -> list[Content]:
    heading, *rows = table
    found: list[Content] = []
    for row in rows or [heading]:
        for name, cell in zip(heading, row, strict=True):
            found += hanging(cell, width, name + ": ", Content("  "))
        found.append(plain("─" * min(width, 12), "dim"))
    return found
