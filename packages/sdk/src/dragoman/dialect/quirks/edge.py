"""The edge next to a peer: reads the peer's name, and applies the quirks that are known for it.

A quirk is a known deviation of real agents or clients from v1, one class each in `agent_quirks` and
`client_quirks`. `QUIRKS` lists all of them; docs/dialects/quirks.md says what each of them does, and which
deviations need none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from msgspec import UNSET

from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Out, Sign, Signs
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Json, Message, as_object, as_text
from dragoman.dialect.names import Position
from dragoman.dialect.quirks.agent_quirks import (
    AnnouncedTwice,
    CancelledTurn,
    DraftSubagents,
    FailedTurn,
    LineZero,
    MissingFile,
    RunningSubagents,
    ShellLine,
    Unannounced,
    UnknownSession,
)
from dragoman.dialect.quirks.client_quirks import DeafToQuestions, NullWrite, RawText, SessionInfo
from dragoman.dialect.quirks.own_terminals import OwnTerminals
from dragoman.dialect.quirks.quirk import Quirk


class Quirks(Edge):
    """Passes everything unchanged until the peer has introduced itself. A peer without quirks costs nothing
    after that.
    """

    name = "quirks"
    # Nobody introduces himself with an update.
    SIGNS_FROM_PEER: ClassVar[Signs] = {"session/update": NO_SIGN}
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/update": NO_SIGN}

    def __init__(self, position: Position, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._position: Position = position
        self._introduction: Message | None = None
        self._next: Edge | None = None

    def succeeded_by(self) -> Edge:
        return self if self._next is None else self._next

    def from_peer(self, message: Message) -> list[Out]:
        if self._next is None:
            self._hear(message)
        if self._next is not None:
            return self._next.from_peer(message)
        return [("inside", message)]

    def from_inside(self, message: Message) -> list[Out]:
        if self._next is not None:
            return self._next.from_inside(message)
        if self._position == "agent" and message.is_request and message.method == "initialize":
            self._introduction = message
        return [("peer", message)]

    def peer_ended(self) -> list[Out]:
        return [] if self._next is None else self._next.peer_ended()

    def _hear(self, message: Message) -> None:
        if self._position == "client":
            if message.is_request:
                params = as_object(message.params) if message.method == "initialize" else {}
                self._know(params.get("clientInfo"))
        elif self._is_introduction(message):
            self._know(as_object(message.result).get("agentInfo"))

    def _is_introduction(self, message: Message) -> bool:
        """Whether an agent answers `initialize`."""
        if self._introduction is None or not message.is_answer or message.error is not UNSET:
            return False
        return message.id == self._introduction.id

    def _know(self, info: Json) -> None:
        quirks = quirks_of(as_text(as_object(info).get("name")), self._position)
        if quirks:
            self._next = QuirkChain(
                [quirk(self.settings, self.ledger) for quirk in quirks], self.settings, self.ledger
            )
            if self._introduction is not None:
                self._next.from_inside(self._introduction)  # it was sent; quirks ask what the client knows
        else:
            self._next = Edge(self.settings, self.ledger)


QUIRKS: tuple[type[Quirk], ...] = (
    AnnouncedTwice,
    CancelledTurn,
    DeafToQuestions,
    DraftSubagents,
    FailedTurn,
    LineZero,
    MissingFile,
    NullWrite,
    OwnTerminals,
    RawText,
    RunningSubagents,
    SessionInfo,
    ShellLine,
    Unannounced,
    UnknownSession,
)
"""The quirks by name. If a peer has several, the first is nearest to it; no quirk depends on another."""


def quirks_of(name: str, position: Position) -> list[type[Quirk]]:
    """Return the quirks of a peer with this name."""
    return [quirk for quirk in QUIRKS if quirk.position == position and quirk.who.fullmatch(name)]


# Joins several quirks of one peer into one edge: each quirk reads the output of the one before.


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
        """Return the signs of all quirks. A quirk may need more signs while an operation is open."""
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
    """Return the signs of methods that none of several edges must read."""
    methods = set.intersection(*(set(signs) for signs in all_signs))
    return {method: _Any([signs[method] for signs in all_signs]) for method in methods}
