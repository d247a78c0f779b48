"""Packs: the lists of guides, mapped to requirements and to judges of their own."""

from __future__ import annotations

import pytest

from dragoman_check.manifest import requirements
from dragoman_check.packs import PACKS, NoSuchCheck, PackCheck, judge_pack, selection
from dragoman_check.report import PackItem, ReportPart
from dragoman_check.verdict import Status, Verdict
from tests.check.conversations import Said, agent, client, make_recording

EVERY_ITEM = [(name, item) for name, pack in PACKS.items() for item in pack.items]


@pytest.mark.parametrize(
    ("name", "item"), EVERY_ITEM, ids=[f"{name}: {item.says}" for name, item in EVERY_ITEM]
)
def test_every_line_can_be_judged_for_its_side_or_says_why_not(name: str, item: PackCheck) -> None:
    for side in ("agent", "client") if item.side is None else (item.side,):
        binding = [one for one in item.requirements if side in requirements()[one].sides]
        assert binding or item.judge or item.unseen
    assert all(one in requirements() for one in item.requirements)


def line(name: str, says: str, verdicts: dict[str, Status], *said: Said) -> PackItem:
    examined = ReportPart(
        side="agent",
        verdicts=[
            Verdict(requirement=one, status=status, level="MUST", text="") for one, status in verdicts.items()
        ],
    )
    result = judge_pack(name, examined, [make_recording(*said)])
    return next(item for item in result.items if item.says == says)


def test_a_line_is_as_good_as_the_worst_of_its_requirements() -> None:
    verdicts: dict[str, Status] = {"TURN-03": "passed", "TURN-04": "failed"}
    item = line("review-agent-checklist", "the last answer has a stop reason", verdicts)
    assert (item.status, item.exercised_count, item.requirements) == ("failed", 2, ("TURN-03", "TURN-04"))


def test_a_line_of_which_nothing_showed_has_not_passed() -> None:
    verdicts: dict[str, Status] = {"TURN-03": "not exercised", "TURN-04": "not exercised"}
    item = line("review-agent-checklist", "the last answer has a stop reason", verdicts)
    assert (item.status, item.exercised_count) == ("not exercised", 0)


def test_what_no_wire_shows_has_not_passed_either() -> None:
    item = line("sdk-best-practices", "violations are logged", {})
    assert item.status == "not exercised"
    assert item.reason


def test_a_judge_of_the_pack_warns() -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "reads"}
    item = line(
        "review-agent-checklist",
        "tool calls have an id, a title, a kind and a status",
        {"TOOL-02": "passed"},
        agent("session/update", {"sessionId": "s", "update": call}),
    )
    assert (item.status, item.reason) == ("warned", "a tool call without kind and status")


def test_lines_of_the_other_side_are_left_out() -> None:
    result = judge_pack(
        "sdk-best-practices", ReportPart(side="client", verdicts=[]), [make_recording(client("x", id=1))]
    )
    assert "long work is streamed" not in [item.says for item in result.items]
    assert "a person or a rule decides about permission" in [item.says for item in result.items]


def test_ids_areas_patterns_and_packs_select() -> None:
    assert selection((), (), ()) is None
    assert selection(["turn-06", "CAN-1*"], (), ()) == {"TURN-06", *(f"CAN-{n}" for n in range(10, 17))}
    assert selection(["ERR"], ["ERR-01"], ()) == {f"ERR-0{n}" for n in range(2, 7)}
    everything_but = selection((), ["TURN"], ())
    assert everything_but is not None
    assert everything_but == {name for name, one in requirements().items() if one.area != "TURN"}
    chosen = selection((), ["STD-05"], ["review-agent-mistakes"])
    assert chosen == {"UPD-01", "TURN-07", "STD-03", "TURN-06"}


@pytest.mark.parametrize("wish", [(["TURN-99"], [], []), ([], ["NO"], []), ([], [], ["no-pack"])])
def test_what_there_is_none_of_is_refused(wish: tuple[list[str], list[str], list[str]]) -> None:
    with pytest.raises(NoSuchCheck):
        selection(*wish)
