"""How findings are told: as Markdown for people, as diffs for editors. Pure.

What stands at the place of a secret is never repeated.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from dragoman.review.finding import Edit, Finding, Severity
from dragoman.review.texts import diff, edited
from dragoman.schema import v1

MOST_LINES = 30
"""Lines of a diff that is told; the whole of it is in the tool call."""

MOST_CHARACTERS = 20_000
"""Of a piece of text in a diff for an editor; what is longer is shown when it is to be applied."""

_NOTES = 20


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def link(finding: Finding, path: str | None) -> str:
    """`path:line`, as a link if there is a file."""
    shown = f"{finding.path}:{finding.line}"
    if path is None:
        return f"`{shown}`"
    name = re.sub(r"([\[\]\\`*_<>])", r"\\\1", shown)
    return f"[{name}]({_address(path)}#L{finding.line})"


def _address(path: str) -> str:
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(path.replace(os.sep, "/"))


def told(number: int, finding: Finding, path: str | None, text: str) -> str:
    """One finding, as a paragraph."""
    head = (
        f"**{number}. {finding.severity.value}: {finding.title}** ({link(finding, path)}, `{finding.rule}`)"
    )
    parts = [head, finding.why]
    if finding.fix is not None:
        risk = "" if finding.fix.safe else " (it may change what the program does)"
        parts.append(f"Fix: {finding.fix.title}{risk}" + _hunk(finding, text))
    return "\n\n".join(parts) + "\n\n"


def _hunk(finding: Finding, text: str) -> str:
    if finding.is_secret or finding.fix is None:
        return ""
    lines = diff(finding.path, text, edited(text, finding.fix.edits)).split("\n")[2:-1]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], "…"]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "".join(lines))), default=0))
    return "\n\n" + "\n".join([f"{fence}diff", *lines, fence]) if lines else ""


def piece(finding: Finding, path: str | None, text: str) -> v1.Diff | None:
    """The fix of a finding for an editor: the lines that it touches, before and after."""
    fix = finding.fix
    if fix is None or not fix.edits or finding.is_secret:
        return None
    start = text.rfind("\n", 0, fix.edits[0].start) + 1
    end = text.find("\n", max(fix.edits[-1].end - 1, fix.edits[-1].start))
    end = len(text) if end == -1 else end + 1
    end = max(end, fix.edits[-1].end)
    if end - start > MOST_CHARACTERS:
        return None
    before = text[start:end]
    inside = [Edit(edit.start - start, edit.end - start, edit.text) for edit in fix.edits]
    return v1.Diff(path=path or finding.path, old_text=before, new_text=edited(before, inside))


def listed(finding: Finding) -> str:
    """One finding in one line."""
    return f"{finding.path}:{finding.line}: {finding.severity.value}: {finding.title} ({finding.rule})"


def by_severity(findings: Sequence[Finding]) -> str:
    """`1 high, 2 low`."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[severity]} {severity.value}" for severity in Severity if counts[severity])


def summary(findings: Sequence[Finding], files: int, notes: Sequence[str]) -> str:
    """What it comes to."""
    lines = ["## Summary", ""]
    reviewed = f"{counted(files, 'file')} reviewed"
    if findings:
        lines += [f"{reviewed}, {counted(len(findings), 'finding')}: {by_severity(findings)}.", ""]
        lines += ["| severity | findings | rules |", "|---|---|---|", *_rows(findings), ""]
        lines += [*_offers(findings)]
    else:
        lines += [f"{reviewed}, no findings.", ""]
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
        lines += [f"{counted(len(safe), 'finding')} can be fixed safely: say “apply the fixes”.", ""]
    if unsafe:
        names = ", ".join(map(str, unsafe[:10])) + (", …" if len(unsafe) > 10 else "")
        lines += [
            f"{counted(len(unsafe), 'fix', 'fixes')} may change what the program does ({names}): "
            f"say “apply fix {unsafe[0]}” to have one.",
            "",
        ]
    return lines
