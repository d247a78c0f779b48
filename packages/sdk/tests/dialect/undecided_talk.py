"""An undecided edge in a translator, spoken to in frames."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect import AUTO, DialectDecision, EdgeSettings, Ledger, Position, Translator, make_edge

V1_CLIENT = {
    "protocolVersion": 1,
    "clientCapabilities": {"terminal": True},
    "clientInfo": {"name": "ed", "version": "7"},
}
V1_AGENT = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True},
    "agentInfo": {"name": "ag", "version": "7"},
}


def request(id_: Any, method: str, params: Any = None) -> Any:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def answer(id_: Any, result: Any) -> Any:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def update(**fields: Any) -> Any:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": fields}}


class Listener:
    """What goes to the inside and to the peer, with how it was decided."""

    def __init__(self, position: Position, settings: EdgeSettings | None = None) -> None:
        self.ledger = Ledger()
        edge = make_edge(AUTO, position, settings or EdgeSettings(), self.ledger)
        self.translator = Translator([edge], self.ledger, on_mistake=_raise)
        self.inside: list[Any] = []
        self.peer: list[Any] = []

    def from_peer(self, *frames: Any) -> Listener:
        return self._took(self.translator.from_peer(_block(frames)))

    def from_inside(self, *frames: Any) -> Listener:
        return self._took(self.translator.from_inside(_block(frames)))

    def ended(self) -> Listener:
        return self._took(self.translator.peer_ended())

    @property
    def dialect(self) -> str | None:
        return self.ledger.decisions[0].dialect if self.ledger.decisions else None

    @property
    def decision(self) -> DialectDecision:
        (decision,) = self.ledger.decisions
        return decision

    def _took(self, passed: Any) -> Listener:
        self.inside = [json.loads(line) for line in passed.inside.splitlines()]
        self.peer = [json.loads(line) for line in passed.peer.splitlines()]
        return self


def _block(frames: tuple[Any, ...]) -> bytes:
    return b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)


def _raise(error: Exception) -> None:
    raise error
