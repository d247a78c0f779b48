"""How late and how often an agent is started again, by the clock of the test."""

from __future__ import annotations

import pytest

from dragoman.errors import CrashLoop, PeerDied
from dragoman.sdk.supervision.restarts import CrashHistory, Restarts

DIED = PeerDied("agent", returncode=1, stderr="no memory")


def test_each_death_doubles_the_delay_up_to_a_bound() -> None:
    deaths = CrashHistory(Restarts(deaths=100, within=1000, first_delay=1, longest_delay=5))
    found = []
    for _ in range(5):
        deaths.add(DIED, now=10)
        found.append(deaths.delay(now=10))
    assert found == [1, 2, 4, 5, 5]


def test_the_delay_counts_from_the_death() -> None:
    deaths = CrashHistory(Restarts(first_delay=2))
    assert deaths.delay(now=0) == 0
    deaths.add(DIED, now=10)
    assert [deaths.delay(now=at) for at in (10, 11.5, 12, 50)] == [2, 0.5, 0, 0]


def test_so_many_deaths_in_so_short_a_time_are_a_crash_loop() -> None:
    deaths = CrashHistory(Restarts(deaths=3, within=60))
    deaths.add(DIED, now=0)
    deaths.add(DIED, now=30)
    assert deaths.verdict(now=30) is None
    deaths.add(DIED, now=59)
    verdict = deaths.verdict(now=59)
    assert isinstance(verdict, CrashLoop)
    assert (verdict.deaths, verdict.seconds, verdict.stderr) == (3, 60, "no memory")


def test_deaths_of_long_ago_do_not_count() -> None:
    deaths = CrashHistory(Restarts(deaths=2, within=60))
    deaths.add(DIED, now=0)
    deaths.add(DIED, now=61)
    assert deaths.verdict(now=61) is None
    assert deaths.delay(now=61) == pytest.approx(Restarts().first_delay)


def test_deaths_can_be_forgiven() -> None:
    deaths = CrashHistory(Restarts(deaths=1))
    deaths.add(DIED, now=0)
    assert deaths.verdict(now=0) is not None
    deaths.clear()
    assert deaths.verdict(now=0) is None
