"""Comments that silence a rule: `dragoman: ignore[rule] reason`. Pure.

One on a line of code holds for that line, one on a line of its own for the next, and `ignore-file[rule]` for
the whole file. It must name what it silences: a comment that silences everything would also silence what
nobody had thought of. What does not is a finding itself, and so is one that gives no reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.review.finding import Finding, Severity
from dragoman.review.lexer import LexicalSpans
from dragoman.review.text_edits import TextLines

_MARK = re.compile(
    r"\bdragoman:[ \t]*ignore(?P<file>-file)?(?![\w-])[ \t]*(?:\[(?P<rules>[^\]\n]*)\])?(?P<reason>[^\n]*)"
)
_CLOSINGS = re.compile(r"(?:\*/|-->|-\}|#>)\s*$")
_WORDS = re.compile(r"\w")


class Complaint(NamedTuple):
    """What can be wrong with such a comment, in words."""

    rule: str
    severity: Severity
    title: str
    why: str


NAMELESS = Complaint(
    "review/nameless-suppression",
    Severity.LOW,
    "Suppression comment without a rule",
    "It silences nothing. Write dragoman: ignore[rule] and why.",
)
WITHOUT_REASON = Complaint(
    "review/suppression-without-reason",
    Severity.INFO,
    "Suppression comment without a reason",
    "The next reader cannot tell whether it still has to be there. Say why after the bracket.",
)
COMPLAINTS = (NAMELESS, WITHOUT_REASON)


class Suppressions:
    """What one text wants to have silenced."""

    def __init__(self, path: str, text: str, language: str | None) -> None:
        self._by_line: dict[int, set[str]] = {}
        self._everywhere: set[str] = set()
        self.complaints: tuple[Finding, ...] = ()
        if "dragoman:" in text:
            self.complaints = tuple(self._read(path, TextLines(text), LexicalSpans(text, language), language))

    def silence(self, finding: Finding) -> bool:
        here = self._by_line.get(finding.line, ())
        return any(_names(name, finding.rule) for name in (*self._everywhere, *here))

    def _read(
        self, path: str, lines: TextLines, spans: LexicalSpans, language: str | None
    ) -> Iterator[Finding]:
        for match in _MARK.finditer(lines.text):
            kind = spans.kind_at(match.start())
            if kind == "string":
                continue
            names = {name.strip() for name in (match["rules"] or "").split(",")} - {""}
            self._add(match, names, lines)
            # In a text without known comments these may be words about this very thing.
            if kind == "comment" and (complaint := _complaint(match, names)):
                yield _finding(complaint, path, lines, match)

    def _add(self, match: re.Match[str], names: set[str], lines: TextLines) -> None:
        line, column = lines.position(match.start())
        if match["file"]:
            self._everywhere |= names
            return
        is_alone = not _WORDS.search(lines.line(line)[: column - 1])
        self._by_line.setdefault(line + 1 if is_alone else line, set()).update(names)


def _names(name: str, rule: str) -> bool:
    """A rule is named in full, by its last part, or with all of its kind: `python/*`."""
    if name.endswith("/*"):
        return rule.startswith(name[:-1])
    return name in (rule, rule.rpartition("/")[2])


def _complaint(match: re.Match[str], names: set[str]) -> Complaint | None:
    if not names:
        return NAMELESS
    return None if _WORDS.search(_CLOSINGS.sub("", match["reason"])) else WITHOUT_REASON


def _finding(complaint: Complaint, path: str, lines: TextLines, match: re.Match[str]) -> Finding:
    place = lines.place(path, match.start(), match.end())
    return Finding(
        rule=complaint.rule,
        severity=complaint.severity,
        place=place,
        title=complaint.title,
        why=complaint.why,
    )
