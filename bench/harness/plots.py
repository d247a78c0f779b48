"""Plots of a run as SVG, drawn by hand: bars on a logarithmic axis, ours in a colour of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from pathlib import Path

from harness.goals import BLOCKING, OURS, Figure
from harness.report import ALL_FIGURES, Results, number
from peers.table import Peer

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 740, 170, 90, 22, 10, 46
COLOURS = {OURS: "#0b7285", BLOCKING: "#1098ad", "raw": "#adb5bd"}
OTHERS = "#868e96"

PLOTTED = (
    "stream.client_us",
    "stream.agent_us",
    "stream1k.client_us",
    "reads.p50_us",
    "inflight.rate",
    "replay.rate",
    "import_used.cpu_ms",
    "start.ms",
)
"""What is compared with others, and says something at a glance."""


def draw_all(
    results: Results, peers: list[Peer], folder: Path, *, is_wanted: Callable[[Figure], bool]
) -> list[Path]:
    """A file for each plotted figure that is wanted and was measured for more than one peer."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn, head = [], ""
    for figure in ALL_FIGURES:
        head = head if figure.title.startswith("…") else figure.title.partition(",")[0]
        medians = results.medians(figure)
        if figure.key not in PLOTTED or len(medians) < 2 or not is_wanted(figure):
            continue
        title = figure.title.replace("…", f"{head}:") if figure.title.startswith("…") else figure.title
        bars = [(peer, medians[peer.name]) for peer in peers if peer.name in medians]
        path = folder / f"{figure.key.replace('.', '-')}.svg"
        path.write_text(draw(title, bars, more=figure.more))
        drawn.append(path)
    return drawn


def draw(title: str, bars: list[tuple[Peer, float]], *, more: bool) -> str:
    values = [value for _, value in bars]
    low = 10 ** math.floor(math.log10(min(values)) - 0.2)
    high = 10 ** math.ceil(math.log10(max(values)))
    scale = (WIDTH - LEFT - RIGHT) / (math.log10(high / low) or 1)
    height = TOP + len(bars) * (BAR + GAP) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="12" y="20" font-weight="600" fill="#212529">{escape(title)}</text>',
        f'<text x="12" y="37" font-size="11" fill="#868e96">{"more" if more else "less"} is better; '
        "logarithmic</text>",
    ]
    for exponent in range(round(math.log10(low)), round(math.log10(high)) + 1):
        x = LEFT + math.log10(10**exponent / low) * scale
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{height - 8}" stroke="#e9ecef"/>')
    for at, (peer, value) in enumerate(bars):
        y = TOP + at * (BAR + GAP)
        length = max(2.0, math.log10(value / low) * scale)
        colour = COLOURS.get(peer.name, OTHERS)
        weight = ' font-weight="600"' if peer.name in (OURS, BLOCKING) else ""
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="#343a40"{weight}>'
            f"{escape(peer.title)}</text>",
            f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3" fill="{colour}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{y + 15}" fill="#343a40"{weight}>{number(value)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
