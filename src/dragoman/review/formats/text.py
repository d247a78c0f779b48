"""A finding for people, in a terminal or a plain file. Pure.

What comes from the reviewed text is shown with its control characters escaped, so that a file cannot write to
the terminal of its reviewer, and a secret is not shown at all.
"""

from __future__ import annotations

from dragoman.review.finding import Finding, Severity
from dragoman.review.text_edits import TextLines
from dragoman.text.cells import cell_width
from dragoman.text.sanitize import sanitize_line

WIDEST = 160
"""Characters of a line that are shown; the rest is cut off."""

_COLOURS = {
    Severity.CRITICAL: "\x1b[1;97;41m",
    Severity.HIGH: "\x1b[1;31m",
    Severity.MEDIUM: "\x1b[33m",
    Severity.LOW: "\x1b[36m",
    Severity.INFO: "\x1b[2m",
}
_BOLD, _DIM, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def as_text(finding: Finding, lines: TextLines | None = None, *, colour: bool = False) -> str:
    """Place, severity, rule and title; the line itself if its text is given; why, and how to mend it."""

    def painted(text: str, code: str) -> str:
        return f"{code}{text}{_END}" if colour else text

    place = finding.place
    where = painted(f"{plain(place.path)}:{place.line}:{place.column}", _BOLD)
    severity = painted(finding.severity.value, _COLOURS[finding.severity])
    rows = [f"{where}  {severity}  {plain(finding.title)}  {painted(f'[{finding.rule}]', _DIM)}"]
    if lines is not None:
        rows += _shown(finding, lines)
    rows.append(f"    {plain(finding.why)}")
    if finding.fix is not None:
        kind = "safe" if finding.fix.safe else "to be looked at"
        rows.append(f"    {painted(f'fix ({kind})', _DIM)}: {plain(finding.fix.title)}")
    return "\n".join(rows) + "\n"


def plain(text: str) -> str:
    """On one line, with every character seen that is not what it looks like."""
    return sanitize_line(text.replace("\t", " "), exact=True)


def _shown(finding: Finding, lines: TextLines) -> list[str]:
    place = finding.place
    line = lines.line(place.line)
    if not line.strip():
        return []
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    start = min(place.column - 1, len(line))
    before, marked, after = line[:start], line[start:end], line[end:]
    if finding.is_secret:
        marked = "*" * min(len(marked), 12)
    before, marked, after = plain(before), plain(marked), plain(after)
    number = f"{place.line:>6} | "
    rows = [f"{number}{(before + marked + after)[:WIDEST]}"]
    if marked.strip() and len(before) < WIDEST:
        rows.append(
            f"{' ' * (len(number) - 2)}| {' ' * cell_width(before)}"
            f"{'^' * cell_width(marked[: WIDEST - len(before)])}"
        )
    return rows
