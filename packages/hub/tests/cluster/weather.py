"""What strikes whom, and when: made from a seed, so that a storm can be had again.

One blow at a time, and calm between them for long enough that every session must have been served: so each
one is judged by itself. With `crowded`, hubs and servers are struck independently of each other; never is
more than one server down, because two of three must agree on anything.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

CALM = 16.0
"""Seconds between the beginnings of two blows, at least: one more than the sessions have to come back."""

RECOVERY = 4.0
"""Seconds between the end of a blow and the beginning of the next: a server must have caught up by then."""

LONGEST = 20.0
"""Of a pause or a cut."""

WAYS = {"kill": 5, "pause": 2, "cut": 2, "stop": 1}
"""Ways to strike, and how often each is chosen."""


@dataclass(frozen=True)
class Strike:
    """`at`: seconds since the beginning. `lasts`: until it is undone."""

    at: float
    how: str
    kind: str
    """`hub` or `server`."""
    number: int
    lasts: float

    @property
    def target(self) -> str:
        return f"{self.kind}-{self.number}"


def forecast(
    seed: int, seconds: float, *, hubs: int, servers: int, can_cut: bool = True, crowded: bool = False
) -> list[Strike]:
    """All blows, by their time. The last one leaves time to be judged."""
    if crowded:
        both = [
            *_front(seed, seconds, {"hub": hubs}, can_cut),
            *_front(-seed - 1, seconds, {"server": servers}, can_cut),
        ]
        return sorted(both, key=lambda one: one.at)
    return list(_front(seed, seconds, {"hub": hubs, "server": servers}, can_cut))


def _front(seed: int, seconds: float, counts: dict[str, int], can_cut: bool) -> Iterator[Strike]:
    chance = random.Random(seed)
    ways = {how: weight for how, weight in WAYS.items() if can_cut or how != "cut"}
    kinds = [kind for kind, count in counts.items() if count]
    at = chance.uniform(3, 8)
    while kinds:
        how = chance.choices(list(ways), list(ways.values()))[0]
        kind = chance.choice(kinds)
        lasts = chance.uniform(2, LONGEST) if how in ("pause", "cut") else chance.uniform(1, 8)
        if at + max(CALM, lasts) > seconds:
            return
        yield Strike(at, how, kind, chance.randrange(counts[kind]), lasts)
        at += max(CALM, lasts + RECOVERY) + chance.uniform(0, 3)
