"""Whether the exploration finds what is wrong, and tells it so that somebody can mend it."""

from __future__ import annotations

import pytest

from tests.hub.explore.explorer import explore
from tests.hub.explore.invariants import PROMISES
from tests.hub.explore.planted_bugs import PLANTED, PlantedBug, planted
from tests.hub.explore.story import replay, shrink, tell

SAMPLE = {bug.promise: bug for bug in reversed(PLANTED)}
"""The first that breaks each promise, for `make test`."""

BUGS = [
    pytest.param(bug, id=bug.name, marks=[] if SAMPLE[bug.promise] is bug else [pytest.mark.slow])
    for bug in PLANTED
]


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found_and_told(bug: PlantedBug) -> None:
    with planted(bug):
        found = explore(bug.scope, most=50_000).found
        assert found is not None, "nobody noticed"
        found = shrink(found)
        assert found.promise == bug.promise, tell(found)
        told = tell(found).splitlines()
    print(*told, sep="\n")
    assert len(told) == len(found.actions) + 1
    assert told[-1].startswith(f"  => {bug.promise}: ")
    # Without the bug, the same story ends well.
    assert replay(found.scope, found.actions) is None
    assert explore(bug.scope, most=1_000).found is None


def test_every_promise_is_broken_by_one_of_them() -> None:
    assert {bug.promise for bug in PLANTED} == set(PROMISES)


def test_there_are_enough_of_them() -> None:
    assert len(PLANTED) >= 30
    assert len({bug.name for bug in PLANTED}) == len(PLANTED)


def test_a_story_names_who_did_what() -> None:
    bug = next(
        bug for bug in PLANTED if bug.name == "what is not stored is refused, and stored and run later"
    )
    with planted(bug):
        found = explore(bug.scope).found
        assert found is not None
        told = tell(shrink(found)).splitlines()
    assert told[0] == "  1. client A sends prompt k1 (entry 2 `taken k1` to be stored)"
    assert told[1] == "  2. the journal refuses to store what waits (client A has its answer)"
    assert told[2] == "  3. the agent, which is there, is made ready before the prompt is stored"
    assert told[4] == "  5. the journal stores entries 2 `taken k1`, 3 `session/prompt`"
    assert told[-2] == "  7. entry 3 is sent to the agent: prompt k1"
