"""The examiner is examined: every planted violation is found, and good conversations have none."""

from __future__ import annotations

import pytest

from dragoman_check.manifest import Side
from dragoman_check.verdict import judge
from tests.check.mutants.changes import Mutant
from tests.check.mutants.good import GOOD
from tests.check.mutants.open_points import RECORDED
from tests.check.mutants.table import MUTANTS, statuses
from tests.every import every


def _name(mutant: Mutant) -> str:
    return f"{mutant.side}: {mutant.name}"


@every(("name", "side"), [(name, side) for name, (_, sides) in GOOD.items() for side in sides])
def test_nothing_is_held_against_a_good_conversation(name: str, side: Side) -> None:
    talk = GOOD[name][0]()
    found = judge([talk.recording()], side)
    wrong = [
        (one.requirement, one.findings) for one in found if one.status in ("failed", "warned", "recorded")
    ]
    assert wrong == []


@pytest.mark.parametrize("side", ["agent", "client"])
def test_nothing_is_held_against_good_conversations_together(side: Side) -> None:
    recordings = [make().recording() for make, sides in GOOD.values() if side in sides]
    found = judge(recordings, side)
    assert [one.requirement for one in found if one.status in ("failed", "warned", "recorded")] == []
    assert sum(one.status == "passed" for one in found) > 80


@every("mutant", MUTANTS, ids=_name)
def test_a_planted_violation_is_found(mutant: Mutant) -> None:
    found = statuses(mutant)
    assert found.keys() == set(mutant.expected), "a requirement that does not bind this side"
    assert set(found.values()) & {"failed", "warned"}, found


@every("mutant", RECORDED, ids=_name)
def test_what_the_official_material_leaves_open_is_only_recorded(mutant: Mutant) -> None:
    assert set(statuses(mutant).values()) == {"recorded"}


def test_there_are_enough_mutants_of_both_sides() -> None:
    assert len({_name(mutant) for mutant in MUTANTS}) == len(MUTANTS) > 300
    assert sum(mutant.side == "client" for mutant in MUTANTS) > 80
    assert GOOD.keys() == {mutant.talk for mutant in MUTANTS}
