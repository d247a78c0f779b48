"""What a scenario is: a name, the programs it needs of a peer, and how to measure one peer once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from peers.table import Peer


class Measure(Protocol):
    def __call__(self, peer: Peer, *, quick: bool) -> dict[str, float]: ...


@dataclass(frozen=True)
class Scenario:
    """One measurement gives figures by key; ``rounds`` is set where the usual number would be too few.

    What is ``rehearsed`` runs once unmeasured: the first start of a program compiles and caches its bytecode.
    """

    name: str
    needs: tuple[str, ...]
    measure: Measure
    rounds: int | None = None
    rehearsed: bool = False
