"""A report as a badge: a small picture, or the JSON for badge services.

It never says more than was seen: how many requirements were judged, and how many of them are broken.
"""

from __future__ import annotations

from html import escape

import msgspec

from dragoman_check.report.json import outcome
from dragoman_check.report.model import CheckReport

LABEL = "ACP"

_COLOURS = {
    "failed": ("red", "#c0392b"),
    "blocked": ("lightgrey", "#7f8c8d"),
    "warned": ("yellow", "#b7950b"),
    "clean": ("brightgreen", "#2e8b57"),
}


def message(report: CheckReport) -> str:
    """Return a text such as `131 kept, 2 broken`; a warning does not count as broken."""
    counts = report.counts
    if report.blocked_by and not counts["failed"]:
        return "blocked"
    parts = [f"{counts['passed']} kept"]
    parts += [f"{counts['warned']} warned"] if counts["warned"] else []
    parts += [f"{counts['failed']} broken"] if counts["failed"] else []
    return ", ".join(parts)


def as_endpoint(report: CheckReport) -> str:
    colour, _ = _COLOURS[outcome(report)]
    badge = {"schemaVersion": 1, "label": LABEL, "message": message(report), "color": colour}
    return msgspec.json.encode(badge).decode() + "\n"


def as_svg(report: CheckReport) -> str:
    text = message(report)
    _, colour = _COLOURS[outcome(report)]
    label_px, text_px = _width(LABEL), _width(text)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{label_px + text_px}" height="20" role="img" \
aria-label="{escape(f"{LABEL}: {text}")}">
  <title>{escape(f"{LABEL}: {text}")}</title>
  <clipPath id="r"><rect width="{label_px + text_px}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#r)">
    <rect width="{label_px}" height="20" fill="#555"/>
    <rect x="{label_px}" width="{text_px}" height="20" fill="{colour}"/>
  </g>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{label_px / 2:g}" y="14">{escape(LABEL)}</text>
    <text x="{label_px + text_px / 2:g}" y="14">{escape(text)}</text>
  </g>
</svg>
"""


def _width(text: str) -> int:
    """Of a text in 11 px with room at both ends; a digit or letter is about 7 px wide."""
    return 7 * len(text) + 12
