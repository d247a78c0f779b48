"""The simulation finds bugs that were planted into the hub."""

from __future__ import annotations

import os

import pytest

from tests.hub.simulate.planted_bugs import BUGS, find

QUICK = (
    "keys of answered prompts are forgotten",
    "the outcome of a message into a turn is not remembered",
    "two prompts are with the agent at once",
)
"""Found within a few seeds; the others take minutes, and are for `make test-all`."""

SEEDS = int(os.environ.get("DRAGOMAN_PLANTED_SEEDS", "0"))


@pytest.mark.timeout(60 + SEEDS * 4)
@pytest.mark.parametrize("name", list(BUGS) if SEEDS else QUICK)
def test_a_planted_bug_is_found(name: str) -> None:
    outcome = find(name, range(SEEDS or 40))
    assert outcome is not None, f"no seed has found that {name}"


def test_there_are_twenty_planted_bugs_and_more() -> None:
    assert len(BUGS) > 20
