"""Weighs the evidence that a peer speaks a certain dialect.

A clue speaks for a dialect with a weight: two or more for words that nobody else uses, one for words that
several use. A verdict takes a weight of two and a lead of two, so no single ambiguous word ever decides. What
stays open is settled at the last call, when the peer has to be given something in one form or another: the
likeliest if it leads at all, else v1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from dragoman.dialect.ledger import Reason

ENOUGH = 2
"""The least weight, and the least lead, for certainty."""


class Clue(Struct, frozen=True):
    """A piece of evidence, the dialect that it supports, and its weight."""

    evidence: str
    weights: dict[str, int]

    @property
    def conclusion(self) -> str:
        """The evidence as text, the strongest first."""
        weights = sorted(self.weights.items(), key=lambda item: -item[1])
        loud = [name for name, weight in weights if weight >= ENOUGH]
        quiet = [name for name, weight in weights if weight < ENOUGH]
        words = [" or ".join(loud)] if loud else []
        return ", ".join([*words, *(["perhaps " + " or ".join(quiet)] if quiet else [])])


def clue(evidence: str, **weights: int) -> Clue:
    """Create a clue. The dialect's name is written with `_` for `-`."""
    return Clue(evidence, {name.replace("_", "-"): weight for name, weight in weights.items()})


class Tally:
    """All clues about one peer so far."""

    def __init__(self) -> None:
        self.reasons: list[Reason] = []
        self._weights: Counter[str] = Counter()

    def add(self, clues: Iterable[Clue], *, frame: int) -> None:
        for clue in clues:
            self._weights.update(clue.weights)
            self.reasons.append(Reason(frame=frame, evidence=clue.evidence, conclusion=clue.conclusion))

    def verdict(self) -> str | None:
        """The dialect that is certain; None while it is open."""
        best, weight, lead = self._leader()
        return best if weight >= ENOUGH and lead >= ENOUGH else None

    def last_call(self) -> str:
        """Return the most likely dialect, when a message must be sent now."""
        best, weight, lead = self._leader()
        return best if weight >= ENOUGH and lead >= 1 else "v1"

    @property
    def candidates(self) -> frozenset[str]:
        """The dialects that any evidence supports."""
        return frozenset(name for name, weight in self._weights.items() if weight)

    @property
    def foreign(self) -> bool:
        """Whether any evidence supports a dialect other than v1."""
        return bool(self.candidates - {"v1"})

    def _leader(self) -> tuple[str, int, int]:
        first, second = [*self._weights.most_common(2), ("v1", 0), ("v1", 0)][:2]
        return first[0], first[1], first[1] - second[1]
