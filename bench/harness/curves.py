"""Curves as SVG, drawn by hand: two panels of one thing that grows, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TypeAlias

from harness.report import number

Points: TypeAlias = Sequence[tuple[float, float]]

PANEL, HEIGHT, LEFT, TOP, BOTTOM, MARGIN = 360, 270, 62, 64, 44, 22
COLOUR, GRID, DARK, GREY = "#0b7285", "#e9ecef", "#212529", "#868e96"


def draw_curves(title: str, axis: str, panels: Sequence[tuple[str, Points]]) -> str:
    """`axis` says what grows; each panel has what is measured, and its points."""
    width = PANEL * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="12" y="20" font-size="13" font-weight="600" fill="{DARK}">{escape(title)}</text>',
    ]
    for at, (label, points) in enumerate(panels):
        parts += _panel(at * PANEL, label, axis, points)
    return "\n".join([*parts, "</svg>", ""])


def _panel(x0: float, label: str, axis: str, points: Points) -> list[str]:
    left, right = x0 + LEFT, x0 + PANEL - MARGIN
    bottom = HEIGHT - BOTTOM
    columns = _decades([x for x, _ in points])
    rows = _decades([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + math.log10(x / columns[0]) / math.log10(columns[-1] / columns[0]) * (right - left),
            bottom - math.log10(y / rows[0]) / math.log10(rows[-1] / rows[0]) * (bottom - TOP),
        )

    parts = [f'<text x="{x0 + 12:.0f}" y="44" fill="{GREY}">{escape(label)}</text>']
    for column in columns:
        x, _ = place(column, rows[0])
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{GRID}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" fill="{GREY}">{_short(column)}</text>'
        )
    for row in rows:
        _, y = place(columns[0], row)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{GREY}">{_short(row)}</text>'
        )
    parts.append(
        f'<text x="{(left + right) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle" fill="{GREY}">'
        f"{escape(axis)}</text>"
    )
    places = [place(x, y) for x, y in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOUR}" stroke-width="2"/>')
    for at, ((x, y), (_, value)) in enumerate(zip(places, points, strict=True)):
        anchor = "start" if at == 0 else "end" if at == len(points) - 1 else "middle"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{COLOUR}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="{anchor}" font-size="11" fill="{DARK}">'
            f"{number(value)}</text>"
        )
    return parts


def _decades(values: Sequence[float]) -> list[float]:
    """Powers of ten around the values; at least two, with room for a label above the highest."""
    low = math.floor(math.log10(min(values)) + 1e-9)
    high = max(math.ceil(math.log10(max(values)) - 1e-9), low + 1)
    return [10.0**exponent for exponent in range(low, high + 1)]


def _short(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
