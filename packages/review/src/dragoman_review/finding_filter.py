"""Selects the findings of a text to report: each once, and only the requested ones. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dragoman_review.baseline import fingerprint
from dragoman_review.finding import Finding
from dragoman_review.settings import ReviewSettings
from dragoman_review.source import ReviewNote, ReviewSource
from dragoman_review.suppression import Suppressions
from dragoman_review.text_edits import TextLines


class FindingFilter:
    """Filters the findings of all tools for one text."""

    def __init__(
        self, source: ReviewSource, language: str | None, settings: ReviewSettings, baseline: Counter[str]
    ) -> None:
        """`baseline` counts known findings; each match is removed from it."""
        self._source = source
        self._settings = settings
        self._baseline = baseline
        self._lines: TextLines | None = None
        self._suppressions = Suppressions(source, language)
        self._counts: Counter[str] = Counter()
        self._fingerprints: dict[tuple[str, int], str] = {}
        self._reported_keys: set[tuple[str, int, int]] = set()

    def complaints(self) -> Iterator[Finding]:
        """Findings about the text's own suppression comments."""
        return self.filter(self._suppressions.complaints)

    def filter(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        for finding in findings:
            if not self._is_wanted(finding):
                continue
            with_fingerprint = replace(finding, fingerprint=self._fingerprint(finding))
            if self._baseline[with_fingerprint.fingerprint] > 0:
                self._baseline[with_fingerprint.fingerprint] -= 1
                continue
            self._counts[finding.rule] += 1
            if self._counts[finding.rule] <= self._settings.most:
                yield with_fingerprint

    def notes(self) -> Iterator[ReviewNote]:
        """Notes about rules with more findings than the limit."""
        for rule, count in self._counts.items():
            if (more := count - self._settings.most) > 0:
                yield ReviewNote(self._source.path, f"{more} more findings of {rule} are not shown")

    def _is_wanted(self, finding: Finding) -> bool:
        changed_lines = self._source.changed_lines
        if changed_lines is not None and not finding.place.touches(changed_lines):
            return False
        if not self._settings.wants(finding) or self._suppressions.silence(finding):
            return False
        key = (finding.rule, finding.place.line, finding.place.column)
        if key in self._reported_keys:
            return False
        self._reported_keys.add(key)
        return True

    def _fingerprint(self, finding: Finding) -> str:
        if self._lines is None:
            self._lines = TextLines(self._source.text)
        if finding.is_secret:
            return fingerprint(finding, self._lines)
        # The same for all findings of a rule in a line, and to read a line that a program wrote takes long.
        key = (finding.rule, finding.line)
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(finding, self._lines)
        return self._fingerprints[key]
