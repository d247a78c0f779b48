"""Counters, gauges and histograms, cheap enough to use for every frame.

A family has a name, a meaning and label names; its members are found by label values and kept by whoever
counts: `of` is a look-up, `add` is an addition. Nothing here locks: all counting happens in one thread.
How many members a family may have is bounded; what comes beyond is counted together, under `(others)`, so
that no peer can fill our memory with names. `exposition` writes families down.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Generic, Literal, TypeAlias, TypeVar

from dragoman.errors import LocalMistake

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

MOST_MEMBERS = 1000
"""The most label values of one family: more than a hub has agents and tokens, so that a
scrape stays small.
"""

OTHERS = "(others)"

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


class Counter:
    """A number that only grows from the start of the process."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def add(self, number: float = 1) -> None:
        self.value += number

    def reach(self, total: float) -> None:
        """Raise the counter to a total from another part, unless that total is smaller."""
        if total > self.value:
            self.value = total


class Gauge:
    """A value that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def set(self, value: float) -> None:
        self.value = value

    def add(self, number: float = 1) -> None:
        self.value += number


class Histogram:
    """Counts values by upper bounds. The last bucket is for larger values."""

    __slots__ = ("bounds", "buckets", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.buckets = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.buckets[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def quantile(self, share: float) -> float | None:
        """Return the approximate value below which this share of all values lies; None without values. Values
        beyond the last bound count as that bound.
        """
        count = self.count
        if not count:
            return None
        rank, below = share * count, 0
        for number, bucket in enumerate(self.buckets[:-1]):
            if bucket and below + bucket >= rank:
                lower = self.bounds[number - 1] if number else 0.0
                return lower + (self.bounds[number] - lower) * max(rank - below, 0.0) / bucket
            below += bucket
        return self.bounds[-1]


Meter: TypeAlias = Counter | Gauge | Histogram
M = TypeVar("M", bound=Meter)


class Family(Generic[M]):
    """The metrics of one name, by the values of their labels."""

    def __init__(
        self, name: str, meaning: str, labels: Sequence[str], kind: Kind, make: Callable[[], M]
    ) -> None:
        if not _NAME.fullmatch(name) or not all(_LABEL.fullmatch(label) for label in labels):
            raise LocalMistake(f"{name!r} with labels {list(labels)} is not a name for a metric")
        self.name = name
        self.meaning = meaning
        self.labels = tuple(labels)
        self.kind = kind
        self._make = make
        self._members: dict[tuple[str, ...], M] = {}
        if not labels:
            self.of()  # what has no labels is there from the start, as 0

    def of(self, *values: str) -> M:
        """Return the member with these label values, and create it if necessary. Keep it for frequent use."""
        member = self._members.get(values)
        return self._new(values) if member is None else member

    def _new(self, values: tuple[str, ...]) -> M:
        if len(values) != len(self.labels):
            raise LocalMistake(f"{self.name} has the labels {self.labels}, not {len(values)} of them")
        if len(self._members) >= MOST_MEMBERS:
            values = (OTHERS,) * len(self.labels)
            if values in self._members:
                return self._members[values]
        meter = self._members[values] = self._make()
        return meter

    def forget(self) -> None:
        """Remove all values, for gauges that are filled from a snapshot."""
        self._members.clear()

    def members(self) -> Iterator[tuple[tuple[str, ...], M]]:
        return iter(self._members.items())


AnyFamily: TypeAlias = Family[Counter] | Family[Gauge] | Family[Histogram]


class Meters:
    """All metrics of one hub. Each name is used once."""

    def __init__(self) -> None:
        self._families: dict[str, AnyFamily] = {}

    def __iter__(self) -> Iterator[AnyFamily]:
        return iter(self._families.values())

    def counter(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Family[Counter]:
        return self._add(Family(name, meaning, labels, "counter", Counter))

    def gauge(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Family[Gauge]:
        return self._add(Family(name, meaning, labels, "gauge", Gauge))

    def histogram(
        self, name: str, meaning: str, bounds: Iterable[float], labels: Sequence[str] = ()
    ) -> Family[Histogram]:
        ordered_bounds = tuple(bounds)
        if not ordered_bounds or any(low >= high for low, high in pairwise(ordered_bounds)) or "le" in labels:
            raise LocalMistake(f"{name}: the bounds of a histogram grow, and none of its labels is `le`")
        return self._add(Family(name, meaning, labels, "histogram", partial(Histogram, ordered_bounds)))

    def _add(self, family: Family[M]) -> Family[M]:
        if family.name in self._families:
            raise LocalMistake(f"the metric {family.name} already exists")
        self._families[family.name] = family  # type: ignore[assignment]  # each M is one of the three
        return family
