"""A table of markdown: columns side by side where they fit, else row by row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.content import Content

from dragoman.tui.text.inline import inline
from dragoman.tui.text.lines import hanging, line, plain, wrapped

_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
MOST_COLUMNS = 20
NARROWEST = 4
"""Cells of a column that is still worth having."""


def is_separator(text: str) -> bool:
    return "-" in text and "|" in text and _SEPARATOR.fullmatch(text) is not None


def draw_table(rows: Sequence[str], width: int) -> list[Content]:
    """`rows` are lines of the source without the separator; the first is the heading."""
    cells = [
        [line(inline(cell, "bold" if not at else "")) for cell in _cells(row)] for at, row in enumerate(rows)
    ]
    count = min(max(len(row) for row in cells), MOST_COLUMNS)
    table = [[*row[:count], *[Content("")] * (count - len(row))] for row in cells]
    widths = _widths(table, width - 3 * (count - 1))
    if widths is None:
        return _one_below_the_other(table, width)
    found = _row(table[0], widths)
    found.append(plain("─┼─".join("─" * each for each in widths), "dim"))
    for row in table[1:]:
        found += _row(row, widths)
    return found


def _cells(row: str) -> list[str]:
    row = row.strip().removeprefix("|")
    row = row[:-1] if row.endswith("|") and not row.endswith("\\|") else row
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)]


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
    columns = [wrapped(cell, each) for cell, each in zip(row, widths, strict=True)]
    found = []
    for at in range(max(len(column) for column in columns)):
        cells = [
            _filled(column[at] if at < len(column) else Content(""), each)
            for column, each in zip(columns, widths, strict=True)
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
