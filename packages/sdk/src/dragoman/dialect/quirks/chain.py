"""Joins several quirks of one peer into one edge: each quirk reads the output of the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Out, Sign, Signs
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message


class QuirkChain(Edge):
    """Quirks in order, the first next to the peer. Quirks send nothing to the host."""

    name = "quirks"

    def __init__(self, edges: Sequence[Edge], settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._edges = list(edges)
        self._all_signs_from_peer: list[Signs] = []
        self._signs_from_peer: Signs = {}
        self._signs_from_inside = join_signs([edge.signs_from_inside for edge in self._edges])

    @property
    def signs_from_peer(self) -> Signs:
        """A quirk may want to see more as long as something is under way."""
        all_signs = [edge.signs_from_peer for edge in self._edges]
        if all_signs != self._all_signs_from_peer:
            self._all_signs_from_peer, self._signs_from_peer = all_signs, join_signs(all_signs)
        return self._signs_from_peer

    @property
    def signs_from_inside(self) -> Signs:
        return self._signs_from_inside

    @property
    def titles(self) -> list[str]:
        return [getattr(edge, "title", edge.name) for edge in self._edges]

    def from_peer(self, message: Message) -> list[Out]:
        return self._follow([(0, ("inside", message))])

    def from_inside(self, message: Message) -> list[Out]:
        return self._follow([(len(self._edges) - 1, ("peer", message))])

    def peer_ended(self) -> list[Out]:
        outs: list[Out] = []
        for at, edge in enumerate(self._edges):
            for toward, message in edge.peer_ended():
                step = 1 if toward == "inside" else -1
                outs += self._follow([(at + step, (toward, message))])
        return outs

    def _follow(self, start: list[tuple[int, Out]]) -> list[Out]:
        """Each message through the edge that it stands before, until it has left on one side."""
        waiting, outs = deque(start), list[Out]()
        while waiting:
            at, out = waiting.popleft()
            toward, message = out
            if not 0 <= at < len(self._edges):
                outs.append(out)
                continue
            edge = self._edges[at]
            edge_outs = edge.from_peer(message) if toward == "inside" else edge.from_inside(message)
            steps = [(at + 1 if edge_out[0] == "inside" else at - 1, edge_out) for edge_out in edge_outs]
            waiting.extendleft(reversed(steps))
        return outs


class _Any:
    """What any of several edges looks for."""

    def __init__(self, signs: Sequence[Sign]) -> None:
        self._signs = [sign for sign in signs if sign is not NO_SIGN]

    def search(self, block: bytes) -> object:
        return any(sign.search(block) for sign in self._signs)


def join_signs(all_signs: Sequence[Signs]) -> Signs:
    """The signs of methods that none of several edges has to read."""
    methods = set.intersection(*(set(signs) for signs in all_signs))
    return {method: _Any([signs[method] for signs in all_signs]) for method in methods}
