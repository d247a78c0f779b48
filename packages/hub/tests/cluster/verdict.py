"""The verdict of a storm or a soak as a table: how often each thing happened that must never happen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

KINDS: dict[str, tuple[str, ...]] = {
    "lost": ("lost", "gap", "not told", "never ended", "never settled", "has no end", "was not answered"),
    "doubled": ("told twice", "run twice", "at once", "doubled", "times", "again"),
    "reordered": ("order", "outside", "went on"),
    "refused and run": ("refused and run", "dishonest"),
    "answered twice": ("answered twice", "another answer", "settled twice", "ended twice"),
    "not served in time": ("not served",),
}
"""By words of findings. A finding is counted under the last kind whose words it has."""


def count_findings(findings: Iterable[object]) -> dict[str, int]:
    """How many findings there are of each kind, and of no kind (`other`)."""
    counts: Counter[str] = Counter()
    for finding in findings:
        head = str(finding).partition(": session ")[0]
        kinds = [kind for kind, words in KINDS.items() if any(word in head for word in words)]
        counts[kinds[-1] if kinds else "other"] += 1
    return {kind: counts[kind] for kind in (*KINDS, "other")}


def verdict_table(findings: Sequence[object], rows: Iterable[tuple[str, str]] = ()) -> str:
    """`rows` are figures beside the findings: a name, and what was measured."""
    table = [*((kind, str(count)) for kind, count in count_findings(findings).items()), *rows]
    width = max(len(name) for name, _ in table)
    verdict = "PASSED" if not findings else f"FAILED: {len(findings)} findings"
    return "\n".join([*(f"{name:<{width}}  {value}" for name, value in table), verdict])
