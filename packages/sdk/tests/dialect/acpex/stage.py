"""One edge of these dialects, tried with plain values."""

from __future__ import annotations

from typing import Any

from dragoman.dialect import EdgeSettings, Ledger, make_edge
from dragoman.dialect.names import Position
from tests.dialect.edges import message, remarks, said

Frame = dict[str, Any]
BOTH = ("acpex", "acpex-wire")


class Stage:
    """An edge, its ledger, and shorter words for what a test does with them."""

    def __init__(
        self, position: Position, dialect: str = "acpex", settings: EdgeSettings | None = None
    ) -> None:
        self.ledger = Ledger()
        self.edge = make_edge(dialect, position, settings or EdgeSettings(cwd="/srv"), self.ledger)

    def hear(self, frame: Frame) -> list[tuple[str, Any]]:
        """What comes of a frame of the peer."""
        return said(self.edge, self.edge.from_peer(message({"jsonrpc": "2.0", **frame})))

    def take(self, frame: Frame) -> list[tuple[str, Any]]:
        """What comes of a frame of the inside."""
        return said(self.edge, self.edge.from_inside(message({"jsonrpc": "2.0", **frame})))

    def end(self) -> list[tuple[str, Any]]:
        return said(self.edge, self.edge.peer_ended())

    def updated(self, update: Any, session: str = "s") -> list[Any]:
        """An update of a peer that is an agent, or of the inside to a client, as the other side gets it."""
        note = {"method": "session/update", "params": {"sessionId": session, "update": update}}
        outs = self.hear(note) if self.edge.__class__.__name__.endswith("Agent") else self.take(note)
        return [frame["params"]["update"] for _, frame in outs]

    def asked(self, method: str, params: Any, request_id: Any = 1) -> Any:
        """A request that goes through, as the other side gets it: of a client, or to an agent."""
        frame = {"id": request_id, "method": method, "params": params}
        ((_, through),) = self.take(frame) if "Agent" in type(self.edge).__name__ else self.hear(frame)
        return through

    @property
    def lost(self) -> list[str]:
        return [what for outcome, what in remarks(self.ledger) if outcome == "lost"]

    @property
    def repaired(self) -> list[str]:
        return [what for outcome, what in remarks(self.ledger) if outcome == "repaired"]


def text(words: str) -> Frame:
    return {"type": "text", "text": words}


def chunk(words: str, kind: str = "agent_message_chunk") -> Frame:
    return {"sessionUpdate": kind, "content": text(words)}
