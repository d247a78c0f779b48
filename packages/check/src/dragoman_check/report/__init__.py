"""Reports: the verdicts as text, JSON, JUnit XML, SARIF, an HTML page, or a badge."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dragoman_check.report.model import (
    CheckReport,
    PackItem,
    PackResult,
    ReportPart,
    block,
    count,
    peer_name,
    worst,
)

__all__ = [
    "FORMATS",
    "CheckReport",
    "PackItem",
    "PackResult",
    "ReportPart",
    "block",
    "count",
    "peer_name",
    "render",
    "worst",
]

FORMATS: dict[str, tuple[str, str]] = {
    "text": ("text", "as_text"),
    "json": ("json", "as_json"),
    "junit": ("junit", "as_junit"),
    "sarif": ("sarif", "as_sarif"),
    "html": ("html", "as_html"),
    "badge": ("badge", "as_svg"),
    "badge-json": ("badge", "as_endpoint"),
}
"""The module and function of each format, imported on demand."""


def render(report: CheckReport, name: str) -> str:
    """Return the report in the format with this name."""
    module, function = FORMATS[name]
    make: Callable[[CheckReport], str] = getattr(import_module(f"dragoman_check.report.{module}"), function)
    return make(report)
