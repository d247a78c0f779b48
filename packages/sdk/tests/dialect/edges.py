"""Edges tried with lists: what goes in, and what comes out where."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialect import Edge, EdgeSettings, Ledger, Message, Out, make_edge
from dragoman.dialect.originals import KEY


def message(frame: Any) -> Message:
    """A frame as an edge sees it."""
    return msgspec.convert(frame, Message)


def frame(seen: Message) -> Any:
    """The frame that a message is."""
    return msgspec.to_builtins(seen)


class Pair:
    """A dialect on both sides: a client's edge, an agent's edge, and v1 between them."""

    def __init__(self, dialect: str, settings: EdgeSettings | None = None) -> None:
        self.ledger = Ledger()
        settings = settings or EdgeSettings()
        self.client = make_edge(dialect, "client", settings, self.ledger)
        self.agent = make_edge(dialect, "agent", settings, self.ledger)

    def carry(self, way: str, said: Any) -> tuple[list[Any], list[Any]]:
        """A frame of one peer: what is said in v1 between the edges, and what the other peer hears."""
        first, last = (self.client, self.agent) if way == "to_agent" else (self.agent, self.client)
        between = toward("inside", first.from_peer(message(said)))
        heard = [one for inner in between for one in toward("peer", last.from_inside(inner))]
        return [frame(one) for one in between], [frame(one) for one in heard]

    @property
    def remarks(self) -> list[tuple[str, str]]:
        return remarks(self.ledger)


def toward(where: str, outs: list[Out]) -> list[Message]:
    return [one for way, one in outs if way == where]


def remarks(ledger: Ledger) -> list[tuple[str, str]]:
    """What stands in the ledger, as outcome and what it is about."""
    return [(entry.outcome, entry.what) for entry in ledger.entries]


def said(edge: Edge, outs: list[Out]) -> list[tuple[str, Any]]:
    """What an edge gave out, as frames."""
    return [(way, frame(one)) for way, one in outs]


def bare(value: Any) -> Any:
    """Without the originals that our edges keep."""
    if isinstance(value, dict):
        fields = {name: bare(inner) for name, inner in value.items() if name != KEY}
        return {name: inner for name, inner in fields.items() if name != "_meta" or inner != {}}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def params_of(seen: Message) -> Any:
    """Its params, whatever they are."""
    return seen.params
