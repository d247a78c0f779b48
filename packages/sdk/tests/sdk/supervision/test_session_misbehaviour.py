"""However an agent misbehaves and wherever: every await ends in time, with a result or a typed error, and
nothing is left of it.

This plays some points for each way to fail; run `misbehaving` as a script for all of them, again and again.
"""

from __future__ import annotations

import pytest

from dragoman import errors
from dragoman.testing.faults import HARMLESS
from dragoman.transport.owned_tree import owned_trees
from tests.sdk.supervision.misbehaving_agent import WAYS, meet_all, variants
from tests.transport.programs import eventually

EVERY = 26
"""In a usual run one point of each way is tried; they differ from way to way, so that each has its turn."""


def test_there_are_many_points() -> None:
    assert len(variants()) >= 25 * len(WAYS) / 2
    assert len({variant.place for variant in variants()}) >= 25


@pytest.mark.bound(110)
@pytest.mark.timeout(120)
@pytest.mark.parametrize("way", WAYS)
async def test_every_await_ends_and_nothing_is_left(way: str) -> None:
    start = list(WAYS).index(way)
    ends = await meet_all([one for one in variants() if one.fault == way][start % EVERY :: EVERY])
    assert ends
    for name, end in ends.items():
        if way in HARMLESS:
            assert end == "end_turn cancelled", name
        else:
            assert end == "end_turn cancelled" or hasattr(errors, end), name
    await eventually(lambda: owned_trees() == [])
