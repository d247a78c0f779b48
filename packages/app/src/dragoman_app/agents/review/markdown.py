"""Formats findings: as Markdown for people, as diffs for editors. Pure.

What stands at the place of a secret is never repeated.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from dragoman_review.finding import Edit, Finding, Severity
from dragoman_review.rule_links import rule_link
from dragoman_review.text_edits import TextLines, apply_edits, diff

MOST_LINES = 30
"""The most lines of a diff in a message; the whole diff is shown before it is applied."""

MOST_CHARACTERS = 20_000
"""The most characters of a text in a diff for an editor; longer texts are shown before they are applied."""

VIEW = 2
"""The lines to show around a finding."""

LONGEST_LINE = 300

CONTEXT = 3
"""The lines around a change."""

_NOTES = 20
_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@$")


def count_of(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def link(finding: Finding, path: str | None) -> str:
    """Return `path:line`, as a link if there is a file."""
    place_text = f"{finding.path}:{finding.line}"
    if path is None:
        return f"`{place_text}`"
    name = re.sub(r"([\[\]\\`*_<>])", r"\\\1", place_text)
    return f"[{name}]({_address(path)}#L{finding.line})"


def _address(path: str) -> str:
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(path.replace(os.sep, "/"))


def finding_paragraph(
    number: int,
    finding: Finding,
    path: str | None,
    text: str,
    *,
    evidence: str = "",
    page: str | None = None,
) -> str:
    """Return a finding as a paragraph; `evidence` is its code, `page` the page of all rules."""
    head = (
        f"**{number}. {finding.severity.value}: {finding.title}** ({link(finding, path)}, `{finding.rule}`)"
    )
    parts = [head, *([evidence] if evidence else []), finding.why]
    if finding.fix is not None:
        risk = "" if finding.fix.safe else " (it may change what the program does)"
        parts.append(f"Fix: {finding.fix.title}{risk}" + _hunk(finding, text))
    if page is not None and (address := rule_link(finding, page)):
        parts.append(about_rule(address))
    return "\n\n".join(parts) + "\n\n"


def about_rule(address: str) -> str:
    return f"[About this rule]({address})"


def _hunk(finding: Finding, text: str) -> str:
    """The fix as a diff with a few lines around it. The rest of the text is not looked at: it may be long."""
    if finding.is_secret or finding.fix is None or not finding.fix.edits:
        return ""
    start, end = _window(text, finding.fix.edits, around=CONTEXT)
    if end - start > MOST_CHARACTERS:
        return ""
    before, after = _parts(text, finding.fix.edits, start, end)
    rows = diff(finding.path, before, after).split("\n")[2:-1]
    first = text.count("\n", 0, start)
    rows = [_HUNK.sub(lambda match: _shift_hunk(match, first), row) for row in rows]
    if len(rows) > MOST_LINES:
        rows = [*rows[:MOST_LINES], "…"]
    return f"\n\n{fence_code(rows, 'diff')}" if rows else ""


def fence_code(rows: Sequence[str], language: str = "") -> str:
    """Return lines of any content as a code block."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "".join(rows))), default=0))
    return "\n".join([f"{fence}{language}", *rows, fence])


def code_view(finding: Finding, masked_text: str) -> str:
    """Return the lines of a finding and some lines around them, from a text with masked secrets."""
    lines = TextLines(masked_text)
    place = finding.place
    first = max(1, place.line - VIEW)
    last = min(len(lines), max(place.line, min(place.end_line, place.line + MOST_LINES)) + VIEW)
    width = len(str(last))
    rows = [
        f"{'>' if place.touches(frozenset({at})) else ' '} {at:>{width}} | {lines.line(at)[:LONGEST_LINE]}"
        for at in range(first, last + 1)
    ]
    return fence_code([row.rstrip() for row in rows])


def _shift_hunk(match: re.Match[str], by: int) -> str:
    """The head of a hunk that begins that many lines further down."""
    before, after = int(match[1]) + by, int(match[3]) + by
    return f"@@ -{before}{match[2] or ''} +{after}{match[4] or ''} @@"


def _window(text: str, edits: Sequence[Edit], *, around: int) -> tuple[int, int]:
    """From the beginning of the first line that is touched to the end of the last, and some lines more."""
    start = text.rfind("\n", 0, edits[0].start) + 1
    last = edits[-1]
    end = text.find("\n", max(last.end - 1, last.start)) + 1 or len(text)
    for _ in range(around):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = text.find("\n", end) + 1 or len(text)
    return start, max(end, last.end)


def _parts(text: str, edits: Sequence[Edit], start: int, end: int) -> tuple[str, str]:
    """A part of the text before and after the edits, which lie in it."""
    before = text[start:end]
    inside = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    return before, apply_edits(before, inside)


def finding_line(finding: Finding) -> str:
    """Return a finding in one line."""
    return f"{finding.path}:{finding.line}: {finding.severity.value}: {finding.title} ({finding.rule})"


def by_severity(findings: Sequence[Finding]) -> str:
    """Count by severity: `1 high, 2 low`."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[severity]} {severity.value}" for severity in Severity if counts[severity])


def summary(findings: Sequence[Finding], files: int, notes: Sequence[str]) -> str:
    """Return the summary of a review."""
    lines = ["## Summary", ""]
    reviewed_text = f"{count_of(files, 'file')} reviewed"
    if findings:
        lines += [f"{reviewed_text}, {count_of(len(findings), 'finding')}: {by_severity(findings)}.", ""]
        lines += ["| severity | findings | rules |", "|---|---|---|", *_rows(findings), ""]
        lines += [*_offers(findings)]
    else:
        lines += [f"{reviewed_text}, no findings.", ""]
    if notes:
        lines += ["Not everything was reviewed, or not by every tool:", ""]
        lines += [f"- {note}" for note in notes[:_NOTES]]
        if len(notes) > _NOTES:
            lines.append(f"- and {len(notes) - _NOTES} more")
    return "\n".join(lines).rstrip() + "\n"


def _rows(findings: Sequence[Finding]) -> list[str]:
    rows = []
    for severity in Severity:
        here = [finding for finding in findings if finding.severity is severity]
        rules = Counter(finding.rule for finding in here)
        names = [f"`{rule}`" if count == 1 else f"`{rule}` × {count}" for rule, count in rules.most_common()]
        if here:
            rows.append(f"| {severity.value} | {len(here)} | {', '.join(names)} |")
    return rows


def _offers(findings: Sequence[Finding]) -> list[str]:
    """Which fixes there are, and how to have them."""
    fixable = [(n, finding.fix) for n, finding in enumerate(findings, 1) if finding.fix is not None]
    safe = [number for number, fix in fixable if fix.safe]
    unsafe = [number for number, fix in fixable if not fix.safe]
    lines = []
    if safe:
        lines += [f"{count_of(len(safe), 'finding')} can be fixed safely: say “apply the fixes”.", ""]
    if unsafe:
        names = ", ".join(map(str, unsafe[:10])) + (", …" if len(unsafe) > 10 else "")
        lines += [
            f"{count_of(len(unsafe), 'fix', 'fixes')} may change what the program does ({names}): "
            f"to apply one, say “apply fix {unsafe[0]}”.",
            "",
        ]
    return lines
