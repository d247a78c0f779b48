"""Rules that need no grammar and no worker: patterns over lines, for checks while a user waits.

Loading them takes a tenth of a second; `risks` does it when the first proposal is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_review.finding import Finding, Severity
from dragoman_review.rules import own_rules
from dragoman_review.secrets import secret_findings
from dragoman_review.source import ReviewSource
from dragoman_review.text_edits import TextLines
from dragoman_review.text_rules import text_findings


class PlainRules:
    """Our own rules that are patterns, and the search for secrets."""

    def __init__(self) -> None:
        self._rules = tuple(rule for rule in own_rules() if rule.pattern is not None)
        self._when_run = {rule.id: rule.when_run for rule in self._rules if rule.when_run is not None}

    def findings(self, source: ReviewSource, *, longest: int) -> Iterator[Finding]:
        """The findings in a text; lines count up to `longest` characters."""
        path, lines = source.path, TextLines(source.text)
        yield from secret_findings(path, lines, longest=longest)
        yield from text_findings(path, lines, self._rules, longest=longest)

    def severity_when_run(self, rule: str, severity: Severity) -> Severity:
        """Return the severity of a finding in a command that is about to run."""
        return self._when_run.get(rule, severity)
