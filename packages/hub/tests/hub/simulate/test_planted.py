"""The simulation finds bugs that were planted into the hub."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.house import COUNTED
from tests.hub.simulate.planted_bugs import BUGS, find

QUICK = {
    "keys of answered prompts are forgotten": 0,
    "the outcome of a message into a turn is not remembered": 6,
    "two prompts are with the agent at once": 1,
}
"""Found within a few seeds, by this one first; the others take minutes, and are for `make test-all`."""

SEEDS = int(os.environ.get("DRAGOMAN_PLANTED_SEEDS", "0"))


@pytest.mark.timeout(60 + SEEDS * 4)
@pytest.mark.parametrize("name", list(BUGS) if SEEDS else QUICK)
def test_a_planted_bug_is_found(name: str, record_property: Callable[[str, object], None]) -> None:
    outcome = find(name, [QUICK.get(name, 0), *range(SEEDS or 40)])
    assert outcome is not None, f"no seed has found that {name}"
    if outcome.seed != QUICK.get(name, outcome.seed):
        record_property(COUNTED, f"QUICK is out of date: seed {outcome.seed} finds that {name}")


def test_there_are_twenty_planted_bugs_and_more() -> None:
    assert len(BUGS) > 20
