"""Findings: the output of a review. Plain values; `source` has the input.

Lines and columns count from 1, columns in characters; an end is exclusive. Edits count characters from 0, in
the text of the source that was reviewed, and are worth nothing for any other text.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class Severity(enum.Enum):
    """The severity of a finding, from the worst to the mildest."""

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
    """The place of a finding."""

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
    """A fix of a finding."""

    title: str
    edits: tuple[Edit, ...]
    """In order, without overlaps."""
    safe: bool
    """Whether the program keeps its meaning, except for the mistake."""


class Finding(Struct, frozen=True, kw_only=True):
    """A mistake, or a possible one."""

    rule: str
    """Its name, such as `python/bare-except`, for any tool."""
    severity: Severity
    place: FindingPlace
    title: str
    why: str
    fix: Fix | None = None
    tool: str = "dragoman"
    """The tool: `dragoman`, `ruff`, `ast-grep`, `oxlint`."""
    fingerprint: str = ""
    """A value that stays the same when lines are added above the finding. Set by the engine."""
    is_secret: bool = False
    """Whether the text at this place must not be shown."""

    @property
    def path(self) -> str:
        return self.place.path

    @property
    def line(self) -> int:
        return self.place.line


class RuleText(Struct, frozen=True, kw_only=True):
    """The text of a rule, for any tool."""

    id: str
    title: str
    why: str
    severity: Severity
    languages: tuple[str, ...] = ()
    """Empty for every language, even an unknown one."""

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
        """Return a finding with the texts of the rule, unless it has its own."""
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
    """Return a sort key: the worst first, and then in the order of files."""
    place = finding.place
    return finding.severity.rank, place.path, place.line, place.column, finding.rule
