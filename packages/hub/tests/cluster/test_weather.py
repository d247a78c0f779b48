"""What strikes whom is made from a seed alone, and leaves enough standing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.cluster.weather import CALM, LONGEST, Strike, forecast


def together(strikes: list[Strike]) -> int:
    """How many are down at a time, at most."""
    return max(sum(one.at <= at.at < one.at + one.lasts for one in strikes) for at in strikes)


@pytest.mark.parametrize("seed", range(20))
def test_one_thing_is_down_at_a_time_and_each_blow_can_be_judged(seed: int) -> None:
    strikes = forecast(seed, 300, hubs=3, servers=3)
    assert len(strikes) >= 8
    assert together(strikes) == 1
    assert all(later.at - one.at >= CALM for one, later in pairwise(strikes))
    assert strikes[-1].at + CALM <= 300
    assert all(0 < one.lasts <= LONGEST for one in strikes)
    assert all(0 <= one.number < 3 for one in strikes)


@pytest.mark.parametrize("seed", range(20))
def test_a_crowded_storm_leaves_two_servers(seed: int) -> None:
    strikes = forecast(seed, 600, hubs=3, servers=3, crowded=True)
    assert together([one for one in strikes if one.kind == "server"]) == 1
    assert together(strikes) == 2


def test_the_same_seed_gives_the_same_storm_and_another_one_another() -> None:
    assert forecast(7, 300, hubs=3, servers=3) == forecast(7, 300, hubs=3, servers=3)
    assert forecast(7, 300, hubs=3, servers=3) != forecast(8, 300, hubs=3, servers=3)


def test_every_way_comes_but_cuts_where_nothing_can_be_cut() -> None:
    assert {one.how for one in forecast(1, 3600, hubs=3, servers=3)} == {"kill", "pause", "cut", "stop"}
    without = forecast(1, 3600, hubs=3, servers=3, can_cut=False)
    assert {one.how for one in without} == {"kill", "pause", "stop"}
    assert {one.kind for one in without} == {"hub", "server"}
