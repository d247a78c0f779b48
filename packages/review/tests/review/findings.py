"""Findings for tests of formats."""

from __future__ import annotations

from dragoman_review import Edit, Finding, FindingPlace, Fix, Severity


def finding(
    *,
    path: str = "src/a b.py",
    line: int = 2,
    column: int = 5,
    end_line: int = 2,
    end_column: int = 9,
    severity: Severity = Severity.HIGH,
    title: str = "A title",
    fix: Fix | None = None,
    is_secret: bool = False,
    rule: str = "python/eval",
) -> Finding:
    place = FindingPlace(path=path, line=line, column=column, end_line=end_line, end_column=end_column)
    return Finding(
        rule=rule,
        severity=severity,
        place=place,
        title=title,
        why="It is bad.",
        fix=fix,
        fingerprint="f00d",
        is_secret=is_secret,
    )


MENDED = Fix(title="Mend it", edits=(Edit(3, 7, "x"), Edit(9, 9, "y")), safe=True)
