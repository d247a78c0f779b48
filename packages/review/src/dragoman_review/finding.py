"""Findings: the output of a review. Plain values; `source` has the input.

Lines and columns count from 1, columns in characters; an end is exclusive. Edits count characters from 0, in
the text of the source that was reviewed, and are worth nothing for any other text.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class Severity(enum.Enum):
    """How bad a finding is, from the worst to the mildest."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANKS[self]

    def is_at_least(self, limit: Severity) -> bool:
        return self.rank <= limit.rank


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class FindingPlace(Struct, frozen=True, kw_only=True):
    """Where something was found."""

    path: str
    line: int
    column: int = 1
    end_line: int
    end_column: int = 1

    def touches(self, lines: frozenset[int]) -> bool:
        # An end at the first column is the end of the line before it.
        last = self.end_line - 1 if self.end_column == 1 and self.end_line > self.line else self.end_line
        return not lines.isdisjoint(range(self.line, last + 1))


class Edit(Struct, frozen=True):
    """Replaces the characters between two offsets by a text."""

    start: int
    end: int
    text: str


class Fix(Struct, frozen=True, kw_only=True):
    """A way to mend a finding."""

    title: str
    edits: tuple[Edit, ...]
    """In order, none overlapping another."""
    safe: bool
    """Whether the program means the same afterwards, but for what was wrong with it."""


class Finding(Struct, frozen=True, kw_only=True):
    """Something that is wrong, or may be."""

    rule: str
    """Its name, such as `python/bare-except`, whichever tool found it."""
    severity: Severity
    place: FindingPlace
    title: str
    why: str
    fix: Fix | None = None
    tool: str = "dragoman"
    """Who found it: `dragoman`, `ruff`, `ast-grep`, `oxlint`."""
    fingerprint: str = ""
    """The same for the same finding after lines were added above it. Made by the engine."""
    is_secret: bool = False
    """Whether the text at this place must not be shown."""

    @property
    def path(self) -> str:
        return self.place.path

    @property
    def line(self) -> int:
        return self.place.line


class RuleText(Struct, frozen=True, kw_only=True):
    """The text of a rule, whichever tool applies it."""

    id: str
    title: str
    why: str
    severity: Severity
    languages: tuple[str, ...] = ()
    """Empty for every language, also for none that we know."""

    def finding(
        self,
        place: FindingPlace,
        *,
        title: str = "",
        why: str = "",
        fix: Fix | None = None,
        tool: str = "dragoman",
        is_secret: bool = False,
    ) -> Finding:
        """A finding with the texts of the rule, unless it has its own."""
        title, why = title or self.title, why or self.why
        return Finding(
            rule=self.id,
            severity=self.severity,
            place=place,
            title=title,
            why=why,
            fix=fix,
            tool=tool,
            is_secret=is_secret,
        )


def by_severity(finding: Finding) -> tuple[int, str, int, int, str]:
    """A key to sort by: the worst first, and then as a reader goes through files."""
    place = finding.place
    return finding.severity.rank, place.path, place.line, place.column, finding.rule
