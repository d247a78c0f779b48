"""Compares two tests of the same peer, verdict by verdict: shows the effect of a program in between.

What is not exercised on one side proves nothing about the other; it is told, and is not a fault by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman_check.verdict import Status, Verdict

Change: TypeAlias = Literal["worse", "lost", "better", "shown"]
"""Worse: newly broken. Lost: no longer tested. Better: fixed. Shown: newly tested."""

_GRAVITY: dict[Status, int] = {"failed": 3, "warned": 2, "recorded": 1}
_UNSEEN: tuple[Status, ...] = ("not exercised", "not applicable", "blocked")


class VerdictDifference(Struct, frozen=True, kw_only=True):
    requirement: str
    text: str
    change: Change
    before: Status
    after: Status
    why: str = ""
    """The mistake, if there is one."""


def compare_verdicts(before: Iterable[Verdict], after: Iterable[Verdict]) -> list[VerdictDifference]:
    """Return a difference for each requirement whose status changed significantly."""
    earlier_verdicts = {verdict.requirement: verdict for verdict in before}
    differences = []
    for verdict in after:
        earlier = earlier_verdicts.get(verdict.requirement)
        change = None if earlier is None else _change(earlier.status, verdict.status)
        if earlier is not None and change is not None:
            wrong = verdict if change == "worse" else earlier
            differences.append(
                VerdictDifference(
                    requirement=verdict.requirement,
                    text=verdict.text,
                    change=change,
                    before=earlier.status,
                    after=verdict.status,
                    why=wrong.findings[0].why if wrong.findings else "",
                )
            )
    return differences


def _change(before: Status, after: Status) -> Change | None:
    weight, weight_after = _GRAVITY.get(before, 0), _GRAVITY.get(after, 0)
    if weight_after > weight:
        return "worse"
    if before in _UNSEEN or after in _UNSEEN:
        if before in _UNSEEN and after in _UNSEEN:
            return None
        return "lost" if after in _UNSEEN else "shown"
    return "better" if weight_after < weight else None
