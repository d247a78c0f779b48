"""Checks that need the whole text: its line endings.

Pure. Each check is listed in `CHECKS` with what it is about, so that it can be listed and switched off as any
other rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from dragoman_review.finding import Edit, Finding, Fix, RuleText, Severity
from dragoman_review.text_edits import TextLines

_BARE_RETURN = re.compile(r"\r(?!\n)")


_Find: TypeAlias = Callable[[str], Iterator[tuple[int, int, Fix | None]]]
"""Yields where, as offsets, and how to mend it."""


def _mixed_ends(text: str) -> Iterator[tuple[int, int, Fix | None]]:
    windows = text.count("\r\n")
    unix = text.count("\n") - windows
    if not windows or not unix:
        return
    rare = re.compile(r"(?<!\r)\n" if windows >= unix else r"\r\n")
    end = "\r\n" if windows >= unix else "\n"
    edits = tuple(Edit(match.start(), match.end(), end) for match in rare.finditer(text))
    at = edits[0].start
    # Not safe: a string that spans lines has these ends in it.
    yield at, at, Fix(title="Give every line the same end", edits=edits, safe=False)


def _bare_returns(text: str) -> Iterator[tuple[int, int, Fix | None]]:
    match = _BARE_RETURN.search(text)
    # A text of nothing but carriage returns is an old format, not an attempt to hide something.
    if match and "\n" in text:
        yield match.start(), match.end(), None


CHECKS: dict[RuleText, _Find] = {
    RuleText(
        id="text/mixed-line-ends",
        severity=Severity.LOW,
        title="Mixed line endings (CRLF and LF)",
        why="Some lines end as on Windows and some as on Unix: diffs show false changes, and "
        "scripts fail on a carriage return that cannot be seen.",
    ): _mixed_ends,
    RuleText(
        id="text/bare-carriage-return",
        severity=Severity.MEDIUM,
        title="Bare carriage return within a line",
        why="In a terminal, the text after it overwrites the line, so people see another "
        "text than the machine does.",
    ): _bare_returns,
}


def whole_text_findings(path: str, lines: TextLines) -> Iterator[Finding]:
    for check, find in CHECKS.items():
        for start, end, fix in find(lines.text):
            yield check.finding(lines.place(path, start, end), fix=fix)
