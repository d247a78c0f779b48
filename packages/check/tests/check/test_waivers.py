"""Waivers: what they take, what they do, and what is said about those that nothing needs."""

from __future__ import annotations

import datetime

import pytest

from dragoman_check.report import ReportPart
from dragoman_check.verdict import Status, Verdict, Violation
from dragoman_check.waivers import BadWaivers, apply_waivers, read_waivers
from tests.every import every

TODAY = datetime.date(2027, 1, 31)


def part(**statuses: Status) -> ReportPart:
    return ReportPart(
        side="agent",
        peer="my-agent 1.2",
        verdicts=[
            Verdict(requirement=name.replace("_", "-"), status=status, level="MUST", text="")
            for name, status in statuses.items()
        ],
    )


def waived(text: str, examined: ReportPart) -> list[str]:
    return apply_waivers(read_waivers(text), [examined], today=TODAY)


@pytest.mark.parametrize("status", ["failed", "warned", "recorded"])
def test_a_waiver_waives_with_its_reason(status: Status) -> None:
    examined = part(TURN_06=status, TURN_07="failed")
    examined.verdicts[0].findings = [Violation(rule="r", why="w", fix="f", connection=1, frames=(1,))]
    said = waived('[[waiver]]\nrequirement = "TURN-06"\nreason = "known"', examined)
    assert said == []
    assert [(one.status, one.reason) for one in examined.verdicts] == [("waived", "known"), ("failed", "")]
    assert examined.verdicts[0].findings, "a waived finding is still shown"


def test_a_waiver_may_be_for_a_whole_area() -> None:
    examined = part(TURN_06="failed", TURN_07="passed", SES_04="failed")
    assert waived('[[waiver]]\nrequirement = "TURN-*"\nreason = "known"', examined) == []
    assert [one.status for one in examined.verdicts] == ["waived", "passed", "failed"]


@pytest.mark.parametrize("status", ["passed", "not exercised", "not applicable"])
def test_a_waiver_that_nothing_needs_is_reported(status: Status) -> None:
    examined = part(TURN_06=status)
    said = waived('[[waiver]]\nrequirement = "TURN-06"\nreason = "known"', examined)
    assert said == [f"the waiver for TURN-06 is not needed: {status}"]
    assert examined.verdicts[0].status == status


def test_a_waiver_for_what_was_not_judged_is_not_reported() -> None:
    assert waived('[[waiver]]\nrequirement = "TURN-06"\nreason = "known"', part(SES_04="failed")) == []


@pytest.mark.parametrize(("until", "status"), [("2027-01-31", "waived"), ("2027-01-30", "failed")])
def test_a_waiver_counts_up_to_and_on_its_day(until: str, status: Status) -> None:
    examined = part(TURN_06="failed")
    said = waived(f'[[waiver]]\nrequirement = "TURN-06"\nreason = "known"\nuntil = {until}', examined)
    assert examined.verdicts[0].status == status
    assert said == ([] if status == "waived" else [f"the waiver for TURN-06 expired on {until}"])


@every(
    ("whose", "status"),
    [
        ('peer = "my-agent"', "waived"),
        ('peer = "my-agent 1.2"', "waived"),
        ('peer = "my-*"', "waived"),
        ('peer = "other"', "failed"),
        ('side = "agent"', "waived"),
        ('side = "client"', "failed"),
    ],
)
def test_a_waiver_for_another_peer_is_left_alone(whose: str, status: Status) -> None:
    examined = part(TURN_06="failed")
    assert waived(f'[[waiver]]\nrequirement = "TURN-06"\nreason = "known"\n{whose}', examined) == []
    assert examined.verdicts[0].status == status


def test_two_waivers_for_one_finding_are_both_needed() -> None:
    text = (
        '[[waiver]]\nrequirement = "TURN-06"\nreason = "a"\n[[waiver]]\nrequirement = "TURN-*"\nreason = "b"'
    )
    assert waived(text, part(TURN_06="failed")) == []


@every(
    ("text", "why"),
    [
        ("waiver = [", "no TOML"),
        ('[waiver]\nrequirement = "TURN-06"', "tables"),
        ('other = 1\n[[waiver]]\nrequirement = "TURN-06"\nreason = "r"', "may contain only"),
        ('[[waiver]]\nrequirement = "TURN-06"', "needs a reason"),
        ('[[waiver]]\nrequirement = "TURN-06"\nreason = "  "', "needs a reason"),
        ('[[waiver]]\nrequirement = "TURN-99"\nreason = "r"', "TURN-99"),
        ('[[waiver]]\nreason = "r"', "unknown requirement"),
        ('[[waiver]]\nrequirement = "TURN-06"\nreason = "r"\nuntil = "2027-01-31"', "date"),
        ('[[waiver]]\nrequirement = "TURN-06"\nreason = "r"\nuntil = 2027-01-31T10:00:00Z', "date"),
        ('[[waiver]]\nrequirement = "TURN-06"\nreason = 7', "text"),
        ('[[waiver]]\nrequirement = "TURN-06"\nreason = "r"\nside = "editor"', "side"),
        ('[[waiver]]\nrequirement = "TURN-06"\nreason = "r"\nwho = "me"', "knows only"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_the_place(text: str, why: str) -> None:
    with pytest.raises(BadWaivers, match=why):
        read_waivers(text)
