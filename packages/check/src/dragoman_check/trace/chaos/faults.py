"""Decides which fault happens to which frame, only from a seed and the frame's number.

The same seed gives the same faults to the same conversation, however fast it goes. A list of faults can be
written down as a script, replayed without the seed, and shortened.

`shrink` makes a script of faults as short as it can be while the test still fails.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json

Direction: TypeAlias = Literal["to_agent", "to_client"]
Kind: TypeAlias = Literal[
    "delay", "split", "stall", "duplicate", "drop answer", "fail answer", "unknown", "flood", "late", "kill"
]
Profile: TypeAlias = Literal["network", "process", "peer"]

PROFILES: dict[Profile, dict[Kind, float]] = {
    "network": {"delay": 0.10, "split": 0.10, "stall": 0.01},
    "process": {"delay": 0.05, "stall": 0.02, "kill": 0.004},
    "peer": {
        "duplicate": 0.05,
        "drop answer": 0.02,
        "fail answer": 0.02,
        "unknown": 0.05,
        "flood": 0.005,
        "late": 0.03,
    },
}
"""The frequency of each fault.

network: what pipes and sockets do; process: what an agent's process does; peer: what a sloppy agent does.
"""

SECONDS: dict[Kind, tuple[float, float]] = {"delay": (0.001, 0.2), "stall": (0.5, 3.0)}
FLOOD = (50, 2000)


class ChaosFault(Struct, frozen=True, omit_defaults=True):
    """The fault of one frame. `amount` is seconds, messages, or the place of a cut in a line (0 to 1)."""

    kind: Kind
    direction: Direction
    frame: int
    """The number of the frame, counted from 1 in its direction."""
    amount: float = 0.0


class RandomFaults:
    """Faults by chance."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self._seed = seed
        self._rates = PROFILES[profile]

    def at(self, direction: Direction, frame: int) -> list[ChaosFault]:
        chance = random.Random(f"{self._seed} {direction} {frame}")
        return [
            ChaosFault(kind, direction, frame, self._amount(kind, chance))
            for kind, rate in self._rates.items()
            if chance.random() < rate
        ]

    def _amount(self, kind: Kind, chance: random.Random) -> float:
        if kind in SECONDS:
            return round(chance.uniform(*SECONDS[kind]), 3)
        return float(chance.randint(*FLOOD)) if kind == "flood" else round(chance.random(), 3)


class FaultScript:
    """Faults from a script."""

    def __init__(self, faults: Iterable[ChaosFault]) -> None:
        self._faults: dict[tuple[str, int], list[ChaosFault]] = {}
        for fault in faults:
            self._faults.setdefault((fault.direction, fault.frame), []).append(fault)

    def at(self, direction: Direction, frame: int) -> list[ChaosFault]:
        return self._faults.get((direction, frame), [])


Plan: TypeAlias = RandomFaults | FaultScript


def write_script(faults: Iterable[ChaosFault]) -> bytes:
    """Write faults as a script, one per line."""
    return b"".join(msgspec.json.encode(fault) + b"\n" for fault in faults)


def read_script(text: bytes) -> list[ChaosFault]:
    """Read a script. Raises `msgspec.MsgspecError` if it is invalid."""
    return [decode_json(line, ChaosFault) for line in text.splitlines() if line.strip()]


T = TypeVar("T")


async def shrink(items: Sequence[T], fails: Callable[[list[T]], Awaitable[bool]]) -> list[T]:
    """Return a failing part of `items` of which no single item can be left out. `items` must fail."""
    remaining = list(items)
    size = max(1, len(remaining) // 2)
    while remaining:
        at = 0
        while at < len(remaining):
            candidate = remaining[:at] + remaining[at + size :]
            if await fails(candidate):
                remaining = candidate
            else:
                at += size
        if size == 1:
            break
        size = max(1, size // 2)
    return remaining
