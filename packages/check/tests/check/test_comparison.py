"""Two examinations compared: what is worse, lost, better, or shown only now."""

from __future__ import annotations

from dragoman_check.comparison import Change, compare_verdicts
from dragoman_check.verdict import Status, Verdict, Violation
from tests.every import every


def verdict(status: Status, name: str = "TURN-04") -> Verdict:
    found = [Violation(rule="r", why=f"{status} here", fix="", connection=1, frames=())]
    broken = status in ("failed", "warned", "recorded")
    return Verdict(requirement=name, status=status, level="MUST", text="t", findings=found if broken else [])


@every(
    ("before", "after", "change"),
    [
        ("passed", "failed", "worse"),
        ("passed", "recorded", "worse"),
        ("warned", "failed", "worse"),
        ("not exercised", "warned", "worse"),
        ("passed", "not exercised", "lost"),
        ("failed", "not exercised", "lost"),
        ("passed", "blocked", "lost"),
        ("failed", "passed", "better"),
        ("failed", "warned", "better"),
        ("not exercised", "passed", "shown"),
        ("passed", "passed", None),
        ("failed", "failed", None),
        ("not exercised", "not applicable", None),
    ],
)
def test_what_changed(before: Status, after: Status, change: Change | None) -> None:
    found = compare_verdicts([verdict(before)], [verdict(after)])
    assert [(one.change, one.before, one.after) for one in found] == (
        [(change, before, after)] if change else []
    )


def test_a_difference_tells_what_is_wrong_where_something_is() -> None:
    (worse,) = compare_verdicts([verdict("passed")], [verdict("failed")])
    (better,) = compare_verdicts([verdict("warned")], [verdict("passed")])
    assert (worse.why, better.why) == ("failed here", "warned here")


def test_what_only_one_examination_judged_is_not_compared() -> None:
    assert compare_verdicts([verdict("passed", "SES-04")], [verdict("failed")]) == []
