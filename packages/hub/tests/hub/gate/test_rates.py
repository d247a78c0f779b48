"""How often somebody may: bursts, refilling, and a bound on how many are remembered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_hub.gate.rates import Buckets, Rate, network_of, whole_seconds


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_fine_and_then_time_gives_back_one_by_one() -> None:
    clock = Clock()
    buckets = Buckets(Rate(3, 60.0), clock=clock)
    assert [buckets.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 20.0]
    assert buckets.take("b") == 0.0
    clock.now += 15
    assert buckets.take("a") == pytest.approx(5.0)
    assert buckets.wait("a") == pytest.approx(5.0)
    clock.now += 5.001
    assert buckets.wait("a") == 0.0
    assert buckets.take("a") == 0.0
    assert buckets.take("a") > 0
    clock.now += 3600
    assert [buckets.take("a") > 0 for _ in range(4)] == [False, False, False, True]


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 5))
def test_there_is_never_more_than_the_rate_and_a_burst(pauses: list[float], count: int) -> None:
    clock = Clock()
    buckets = Buckets(Rate(count, 10.0), clock=clock)
    taken = 0
    for pause in pauses:
        clock.now += pause
        taken += buckets.take("a") == 0.0
    assert taken <= count + (clock.now - 100.0) * count / 10.0 + 1e-6


def test_a_clock_that_goes_backwards_gives_nothing_and_takes_nothing() -> None:
    clock = Clock()
    buckets = Buckets(Rate(2, 10.0), clock=clock)
    buckets.take("a")
    clock.now -= 50
    assert buckets.take("a") == 0.0
    assert buckets.take("a") > 0


def test_a_rate_may_change() -> None:
    buckets = Buckets(Rate(5, 10.0), clock=Clock())
    buckets.take("a")
    buckets.rate = Rate(1, 10.0)
    assert buckets.take("a") == 0.0
    assert buckets.take("a") == 10.0


def test_the_one_that_was_not_used_for_longest_is_forgotten() -> None:
    buckets = Buckets(Rate(2, 10.0), clock=Clock(), most=2)
    for key in "aabba":
        buckets.take(key)  # the last one is refused, and is no use
    buckets.take("c")
    assert (buckets.wait("a"), buckets.wait("b") > 0) == (0.0, True)
    buckets = Buckets(Rate(2, 10.0), clock=Clock(), most=2)
    for key in "abacb":
        buckets.take(key)
    assert buckets.wait("a") == 0.0, "it was forgotten when b came back"
    assert buckets.take("b") == 0.0
    assert buckets.take("b") > 0


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("a socket", "a socket"),
    ],
)
def test_what_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_waiting_is_told_in_whole_seconds_and_never_too_short() -> None:
    assert [whole_seconds(each) for each in (0.0, 0.2, 1.0, 5.01)] == [1, 1, 1, 6]
