"""Rate limits: token buckets that fill with time and are emptied by use.

Pure: the clock is given. A bucket holds as many drops as its rate counts, so that a burst of that size is
fine. The number of buckets is bounded; the one that was not used for longest is forgotten first.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from msgspec import Struct

MOST = 4096
"""The most buckets to keep; a few hundred kilobytes."""


class Rate(Struct, frozen=True):
    """A number of events in a number of seconds."""

    count: int
    seconds: float

    def __str__(self) -> str:
        unit = {1.0: "s", 60.0: "min", 3600.0: "hour"}.get(self.seconds, f"{self.seconds:g} s")
        return f"{self.count}/{unit}"


WRONG_TOKENS = Rate(10, 60.0)
"""The limit for wrong tokens from one address. Nobody guesses 256 bits; this keeps the log short and scanners
slow.
"""


class Buckets:
    """One bucket for each key."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self.rate = rate
        """May be changed at any time; buckets that are too full then are cut."""
        self._clock = clock
        self._most = most
        self._levels: dict[str, tuple[float, float]] = {}  # key → what was in it, and when

    def take(self, key: str) -> float:
        """Return 0 if an event may happen now, and count it; otherwise return the seconds until it may."""
        level, now = self._level(key)
        if level < 1:
            return self._until(level)
        self._levels.pop(key, None)
        if len(self._levels) >= self._most:
            del self._levels[next(iter(self._levels))]
        self._levels[key] = (level - 1, now)
        return 0.0

    def wait(self, key: str) -> float:
        """Return the same without counting."""
        level, _ = self._level(key)
        return 0.0 if level >= 1 else self._until(level)

    def _level(self, key: str) -> tuple[float, float]:
        now, full = self._clock(), float(self.rate.count)
        level, then = self._levels.get(key, (full, now))
        # A clock that went backwards empties nothing and fills nothing.
        return min(full, level + max(0.0, now - then) * full / self.rate.seconds), now

    def _until(self, level: float) -> float:
        return (1 - level) * self.rate.seconds / self.rate.count


def network_of(address: str) -> str:
    """Return the network that counts as one address: a user of IPv6 has at least 2^64 of them."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # a Unix socket, or nothing
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)


def whole_seconds(seconds: float) -> int:
    """Return seconds for `Retry-After`: never too early, never 0."""
    return max(1, math.ceil(seconds))
