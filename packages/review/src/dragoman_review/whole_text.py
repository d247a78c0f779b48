"""What can be said of a text only as a whole: how its lines end.

Pure. Each check is listed in `CHECKS` with what it is about, so that it can be listed and switched off as any
other rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dragoman_review.finding import Edit, Finding, Fix, Severity
from dragoman_review.text_edits import TextLines

_BARE_RETURN = re.compile(r"\r(?!\n)")


class TextCheck(NamedTuple):
    """A rule that is a function."""

    id: str
    severity: Severity
    title: str
    why: str
    find: Callable[[TextLines, str | None], Iterator[tuple[int, int, Fix | None]]]
    """Yields where, as offsets, and how to mend it."""


def _mixed_ends(lines: TextLines, language: str | None) -> Iterator[tuple[int, int, Fix | None]]:
    text = lines.text
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


def _bare_returns(lines: TextLines, language: str | None) -> Iterator[tuple[int, int, Fix | None]]:
    match = _BARE_RETURN.search(lines.text)
    # A text of nothing but carriage returns is an old format, not an attempt to hide something.
    if match and "\n" in lines.text:
        yield match.start(), match.end(), None


CHECKS = (
    TextCheck(
        "text/mixed-line-ends",
        Severity.LOW,
        "Mixed line endings (CRLF and LF)",
        "Some lines end as on Windows and some as on Unix: diffs show changes that nobody made, and scripts "
        "fail on a carriage return that cannot be seen.",
        _mixed_ends,
    ),
    TextCheck(
        "text/bare-carriage-return",
        Severity.MEDIUM,
        "Bare carriage return within a line",
        "What follows it overwrites the line when it is shown in a terminal, so that a reader sees other "
        "text than the machine does.",
        _bare_returns,
    ),
)


def whole_text_findings(path: str, lines: TextLines, language: str | None) -> Iterator[Finding]:
    for check in CHECKS:
        for start, end, fix in check.find(lines, language):
            yield Finding(
                rule=check.id,
                severity=check.severity,
                place=lines.place(path, start, end),
                title=check.title,
                why=check.why,
                fix=fix,
            )
