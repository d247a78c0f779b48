"""Both edges of crow, as plain values: what comes in is a dict, what goes out is (where, dict)."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialect import Edge, EdgeSettings, Ledger
from dragoman.dialect.crow import CrowAgent, CrowClient
from dragoman.dialect.edge import Out
from dragoman.dialect.message import Message
from dragoman.schema.v1.methods import METHODS
from tests.dialect.crow.frames import Frame
from tests.interop.judges import Sent

Said = list[tuple[str, Frame]]


class Side:
    """One edge and its ledger."""

    def __init__(self, kind: type[Edge], settings: EdgeSettings | None = None) -> None:
        self.ledger = Ledger()
        self.edge = kind(settings or EdgeSettings(cwd="/srv"), self.ledger)

    def hear(self, frame: Frame) -> Said:
        """What comes of a frame of the peer."""
        return plain(self.edge.from_peer(message(frame)))

    def take(self, frame: Frame) -> Said:
        """What comes of a frame of the inside."""
        return plain(self.edge.from_inside(message(frame)))

    def end(self) -> Said:
        return plain(self.edge.peer_ended())

    @property
    def lost(self) -> list[str]:
        return [entry.what for entry in self.ledger.entries if entry.outcome == "lost"]

    @property
    def repaired(self) -> list[str]:
        return [entry.what for entry in self.ledger.entries if entry.outcome == "repaired"]


def crow_client(settings: EdgeSettings | None = None) -> Side:
    return Side(CrowClient, settings)


def crow_agent(settings: EdgeSettings | None = None) -> Side:
    return Side(CrowAgent, settings)


def message(frame: Frame) -> Message:
    return msgspec.convert(frame, Message)


def plain(outs: list[Out]) -> Said:
    return [(toward, msgspec.to_builtins(said)) for toward, said in outs]


def request(request_id: Any, method: str, params: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str, params: Any) -> Frame:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(request_id: Any, result: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure(request_id: Any, code: int, why: str = "no") -> Frame:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": why}}


def judged(frame: Frame, answers: str = "") -> Sent:
    """What a judge of v1 has to know of a frame; an answer is named by the method that it answers."""
    if "error" in frame:
        return Sent("Error", answers, frame["error"])
    method = frame.get("method", answers)
    kind = "notification" if "method" in frame and "id" not in frame else "request"
    for receiver in ("agent", "client"):
        entry = METHODS.get(method, kind=kind, receiver=receiver)  # type: ignore[arg-type]
        if entry is not None:
            part = entry.params if "method" in frame else entry.result
            return Sent(part.__name__, method, frame["params"] if "method" in frame else frame["result"])
    raise AssertionError(f"{method} is nobody's method")
