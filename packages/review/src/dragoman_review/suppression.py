"""Comments that suppress a rule: `dragoman: ignore[rule] reason`. Pure.

One on a line of code holds for that line, one on a line of its own for the next, and `ignore-file[rule]` for
the whole file. It must name what it silences: a comment that silences everything would also silence what
nobody had thought of. What does not is a finding itself, and so is one that gives no reason.

In untrusted lines, those of a change that is reviewed against a base, a comment silences nothing and is a
finding itself. One of the base does not silence a line that the change has put below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman_review.finding import Finding, RuleText, Severity
from dragoman_review.lexer import LexicalSpans
from dragoman_review.source import ReviewSource
from dragoman_review.text_edits import TextLines

_MARK = re.compile(
    r"\bdragoman:[ \t]*ignore(?P<file>-file)?(?![\w-])[ \t]*(?:\[(?P<rules>[^\]\n]*)\])?(?P<reason>[^\n]*)"
)
_CLOSINGS = re.compile(r"(?:\*/|-->|-\}|#>)\s*$")
_WORDS = re.compile(r"\w")
_TOOL_MARKS = re.compile(r"noqa|\b(?:eslint|oxlint)-disable|\bruff:[ \t]*(?:disable|ignore)", re.IGNORECASE)
"""How linters of others are silenced."""


NAMELESS = RuleText(
    id="review/nameless-suppression",
    severity=Severity.LOW,
    title="Suppression comment without a rule",
    why="It has no effect. Write: dragoman: ignore[rule] reason",
)
WITHOUT_REASON = RuleText(
    id="review/suppression-without-reason",
    severity=Severity.INFO,
    title="Suppression comment without a reason",
    why="Readers can't tell whether it is still needed. Add the reason after the bracket.",
)
UNTRUSTED = RuleText(
    id="review/new-suppression",
    severity=Severity.MEDIUM,
    title="Suppression comment in the change under review",
    why="No effect here: a change must not silence its own review. It takes effect once the base has it.",
)
COMPLAINTS = (NAMELESS, WITHOUT_REASON, UNTRUSTED)


class Suppressions:
    """The suppressed rules of one text."""

    def __init__(self, source: ReviewSource, language: str | None) -> None:
        path, text, self._untrusted_lines = source.path, source.text, source.untrusted_lines
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
            is_trusted = self._is_trusted(lines.position(match.start())[0])
            if is_trusted:
                self._add(match, names, lines)
            # In a text without known comments these may be words about this very thing.
            complaint = _complaint(match, names) if is_trusted else UNTRUSTED
            if kind == "comment" and complaint is not None:
                yield complaint.finding(lines.place(path, *match.span()))

    def _add(self, match: re.Match[str], names: set[str], lines: TextLines) -> None:
        line, column = lines.position(match.start())
        if match["file"]:
            self._everywhere |= names
            return
        is_alone = not _WORDS.search(lines.line(line)[: column - 1])
        silenced_line = line + 1 if is_alone else line
        if self._is_trusted(silenced_line):
            self._by_line.setdefault(silenced_line, set()).update(names)

    def _is_trusted(self, line: int) -> bool:
        return self._untrusted_lines is not None and line not in self._untrusted_lines


def without_tool_marks(source: ReviewSource) -> str:
    """Return a text in which no untrusted line suppresses another linter; all other characters keep their
    place.
    """
    untrusted_lines = source.untrusted_lines
    if untrusted_lines is not None and not untrusted_lines:
        return source.text
    return "\n".join(
        _TOOL_MARKS.sub(lambda match: "x" * len(match[0]), row)
        if untrusted_lines is None or number in untrusted_lines
        else row
        for number, row in enumerate(source.text.split("\n"), 1)
    )


def _names(name: str, rule: str) -> bool:
    """A rule is named in full, by its last part, or with all of its kind: `python/*`."""
    if name.endswith("/*"):
        return rule.startswith(name[:-1])
    return name in (rule, rule.rpartition("/")[2])


def _complaint(match: re.Match[str], names: set[str]) -> RuleText | None:
    if not names:
        return NAMELESS
    return None if _WORDS.search(_CLOSINGS.sub("", match["reason"])) else WITHOUT_REASON
