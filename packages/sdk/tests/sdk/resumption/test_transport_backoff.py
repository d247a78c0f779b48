"""Attempts come at growing distances, never all at once, never too far apart."""

from __future__ import annotations

from dragoman.sdk.resumption import Backoff


def test_waits_double_up_to_a_bound() -> None:
    waits = Backoff(chance=lambda: 1.0)
    assert [waits(failed) for failed in range(4)] == [0.1, 0.2, 0.4, 0.8]
    assert waits(8) == waits(10_000) == 15.0


def test_chance_takes_at_most_half_of_a_wait() -> None:
    assert Backoff(chance=lambda: 0.0)(2) == 0.2
    assert all(7.5 <= Backoff()(20) <= 15 for _ in range(50))
