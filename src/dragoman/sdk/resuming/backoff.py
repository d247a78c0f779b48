"""How long to wait before the next attempt: doubling from a tenth of a second to a quarter of a minute.

The jitter keeps the clients of a hub that has come back from knocking all at once. Knows no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable

FIRST = 0.1
MOST = 15.0
DOUBLINGS = 10
"""By then `MOST` is reached; a power without a bound would be a number of any size some day."""


class Backoff:
    """Call it with the number of attempts that have failed, from 0."""

    def __init__(
        self, *, first: float = FIRST, most: float = MOST, chance: Callable[[], float] = random.random
    ) -> None:
        self._first = first
        self._most = most
        self._chance = chance

    def __call__(self, failed: int) -> float:
        whole = min(self._most, self._first * float(2 ** min(failed, DOUBLINGS)))
        return whole * (0.5 + self._chance() / 2)
