"""Counting, and the text that it becomes."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LocalMistake
from dragoman_hub.api.observability.hub_meters import number, render
from dragoman_hub.api.observability.meters import MOST_MEMBERS, OTHERS, Counter, Histogram, Meters
from tests.hub.api.observability.strict import parse


def test_counters_grow_by_ones_and_by_batches() -> None:
    meters = Meters()
    frames = meters.counter("frames_total", "Frames.", ["direction"])
    mine = frames.of("to_agent")
    mine.add()
    mine.add(41)
    frames.of("to_client").add(7)
    assert frames.of("to_agent") is mine
    read = parse(render(meters))["frames_total"]
    assert (read.kind, read.meaning) == ("counter", "Frames.")
    assert (read.value(direction="to_agent"), read.value(direction="to_client")) == (42, 7)


def test_a_total_that_somebody_else_counts_never_goes_back() -> None:
    counter = Counter()
    for total in (3, 5, 4):
        counter.reach(total)
    assert counter.value == 5


def test_what_has_no_labels_is_told_before_anything_happened() -> None:
    meters = Meters()
    meters.gauge("queue", "Waiting.")
    assert parse(render(meters))["queue"].value() == 0


def test_a_gauge_goes_up_and_down_and_forgets_who_is_gone() -> None:
    meters = Meters()
    sessions = meters.gauge("sessions", "Sessions.", ["state"])
    sessions.of("idle").set(5)
    sessions.of("idle").add(-2)
    assert parse(render(meters))["sessions"].value(state="idle") == 3
    sessions.forget()
    assert parse(render(meters))["sessions"].samples == {}


def test_buckets_hold_what_is_at_most_as_large_as_their_bound() -> None:
    meters = Meters()
    waits = meters.histogram("wait_seconds", "Waits.", [0.5, 1, 2.5], ["outcome"])
    for value in (0.1, 0.5, 0.6, 2.5, 99):
        waits.of("answered").observe(value)
    waits.of("answered").observe(1.0, times=3)
    read = parse(render(meters))["wait_seconds"]
    held = {bound: read.value(outcome="answered", le=bound) for bound in ("0.5", "1", "2.5", "+Inf")}
    assert held == {"0.5": 2, "1": 6, "2.5": 7, "+Inf": 8}
    assert read.samples["wait_seconds_sum", (("outcome", "answered"),)] == pytest.approx(105.7)


def test_a_share_of_all_lies_below_its_quantile() -> None:
    histogram = Histogram([1, 2, 4])
    assert histogram.quantile(0.99) is None
    histogram.observe(0.5, times=90)
    histogram.observe(3, times=9)
    assert histogram.quantile(0.5) == pytest.approx(0.55)
    assert histogram.quantile(0.99) == pytest.approx(3.78, abs=0.01)
    histogram.observe(1000, times=900)
    assert histogram.quantile(0.99) == 4


@given(st.dictionaries(st.tuples(st.text(), st.text()), st.floats(allow_nan=False), max_size=8), st.text())
def test_any_text_can_be_a_label_or_a_meaning(values: dict[tuple[str, str], float], meaning: str) -> None:
    meters = Meters()
    family = meters.gauge("anything", meaning, ["one", "two"])
    for labels, value in values.items():
        family.of(*labels).set(value)
    text = render(meters)
    read = parse(text)["anything"]
    assert {tuple(value for _, value in labels): held for (_, labels), held in read.samples.items()} == values


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (3.0, "3"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
        (2**60, "1.152921504606847e+18"),
    ],
)
def test_numbers_are_as_short_as_they_can_be(value: float, shown: str) -> None:
    assert number(value) == shown


def test_names_beyond_the_bound_are_counted_together() -> None:
    meters = Meters()
    family = meters.counter("seen_total", "Seen.", ["name"])
    for name in range(MOST_MEMBERS + 50):
        family.of(str(name)).add()
    read = parse(render(meters))["seen_total"]
    assert len(read.samples) == MOST_MEMBERS + 1
    assert read.value(name=OTHERS) == 50


def test_mistakes_in_names_are_told_when_they_are_made() -> None:
    meters = Meters()
    meters.counter("a_total", "A.")
    for wrong in (
        lambda: meters.counter("a_total", "Again."),
        lambda: meters.gauge("a b", "No name."),
        lambda: meters.gauge("b", "No label.", ["__name"]),
        lambda: meters.histogram("h", "Falling.", [2, 1]),
        lambda: meters.histogram("h", "Taken.", [1], ["le"]),
        lambda: meters.gauge("c", "Two.", ["x", "y"]).of("one"),
    ):
        with pytest.raises(LocalMistake):
            wrong()


def test_an_increment_is_cheap() -> None:
    """Beside the cheapest call of a method that there is, in the same moment."""

    class Nothing:
        def add(self, amount: int) -> None: ...

    def spent(add: Callable[[int], None]) -> float:
        begun = time.thread_time()
        for _ in range(10_000):
            add(3)
        return time.thread_time() - begun

    counter, nothing = Meters().counter("a_total", "A.").of(), Nothing()
    pairs = [(spent(counter.add), spent(nothing.add)) for _ in range(5)]
    increment, call = map(min, zip(*pairs, strict=True))
    assert increment < 10 * call
