"""`dragoman review --list-rules`: every rule with its severity, its languages and its title."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dragoman.cli.console import say
from dragoman.review import ReviewRule
from dragoman.review.catalogue import CatalogueEntry, catalogue


class _Row(NamedTuple):
    rule: str
    severity: str
    languages: str
    title: str


def list_rules(more: tuple[ReviewRule, ...]) -> int:
    rows = list(_rows(catalogue(more)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        say("  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row.title)))
    return 0


def _rows(entries: tuple[CatalogueEntry, ...]) -> Iterator[_Row]:
    for entry in entries:
        shown = ", ".join(entry.languages[:3]) + (", …" if len(entry.languages) > 3 else "")
        yield _Row(entry.id, entry.severity.value, shown or "all", entry.title)
