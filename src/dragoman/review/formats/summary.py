"""How many findings of each severity, in one line. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dragoman.review.finding import Finding, Severity


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Every severity from the worst to the mildest, also those that were not found."""
    found = Counter(finding.severity for finding in findings)
    return {severity.value: found[severity] for severity in Severity}


def summary(findings: Iterable[Finding], *, files: int) -> str:
    """For people: `3 findings in 12 files: 1 high, 2 low`."""
    each = {name: count for name, count in counts(findings).items() if count}
    total = sum(each.values())
    where = f"in {files} file{'' if files == 1 else 's'}"
    if not total:
        return f"nothing found {where}"
    parts = ", ".join(f"{count} {name}" for name, count in each.items())
    return f"{total} finding{'' if total == 1 else 's'} {where}: {parts}"
