"""Edges of the dialect tried with lists of frames: one alone, or both with v1 between them.

`Between` is a whole interpreter without its pipes: a threads client on one side, a threads agent on the
other, and everything that is said between them kept, so that it can be shown to the official SDKs.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from dragoman.dialect import EdgeSettings, Ledger, Out, make_edge
from dragoman.dialect.names import Position
from tests.dialect.edges import frame, message, remarks


class Alone:
    """One edge. What it gives out is kept by where it goes."""

    def __init__(self, position: Position, settings: EdgeSettings | None = None) -> None:
        self.ledger = Ledger()
        self.edge = make_edge("threads", position, settings or EdgeSettings(cwd="/field"), self.ledger)

    def peer(self, said: Any) -> list[tuple[str, Any]]:
        return _frames(self.edge.from_peer(message(said)))

    def inside(self, said: Any) -> list[tuple[str, Any]]:
        return _frames(self.edge.from_inside(message(said)))

    def host(self, said: Any) -> list[tuple[str, Any]]:
        return _frames(self.edge.from_host(message(said)))

    def ended(self) -> list[tuple[str, Any]]:
        return _frames(self.edge.peer_ended())

    def note(self, method: str, params: Any) -> list[tuple[str, Any]]:
        return self.inside({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, request_id: Any, method: str, params: Any) -> list[tuple[str, Any]]:
        return self.inside({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def update(self, session: str, **update: Any) -> list[tuple[str, Any]]:
        return self.note("session/update", {"sessionId": session, "update": update})

    @property
    def remarks(self) -> list[tuple[str, str]]:
        return remarks(self.ledger)

    @property
    def lost(self) -> list[str]:
        return [what for outcome, what in self.remarks if outcome == "lost"]


class Between:
    """Both peers speak threads; nobody reads anything but frames."""

    def __init__(self, settings: EdgeSettings | None = None) -> None:
        self.ledger = Ledger()
        settings = settings or EdgeSettings(cwd="/field")
        self._client = make_edge("threads", "client", settings, self.ledger)
        self._agent = make_edge("threads", "agent", settings, self.ledger)
        self.to_client: list[Any] = []
        self.to_agent: list[Any] = []
        self.v1: list[tuple[str, Any]] = []
        """Where it goes, as `tests.dialect.official` wants it."""

    def client_says(self, said: Any) -> None:
        self._pump("client", self._client.from_peer(message(said)))

    def agent_says(self, said: Any) -> None:
        self._pump("agent", self._agent.from_peer(message(said)))

    def _pump(self, at: str, outs: list[Out]) -> None:
        waiting = deque((at, out) for out in outs)
        while waiting:
            here, (toward, said) = waiting.popleft()
            if toward == "peer":
                (self.to_client if here == "client" else self.to_agent).append(frame(said))
                continue
            assert toward == "inside", "both sides lend what they are asked for"
            there = "agent" if here == "client" else "client"
            self.v1.append((f"to_{there}", frame(said)))
            edge = self._agent if there == "agent" else self._client
            waiting.extend((there, out) for out in edge.from_inside(said))

    @property
    def lost(self) -> list[str]:
        return [what for outcome, what in remarks(self.ledger) if outcome == "lost"]


def _frames(outs: list[Out]) -> list[tuple[str, Any]]:
    return [(toward, frame(said)) for toward, said in outs]


def chunk(text: str) -> Any:
    return {"type": "text", "chunk": text}


def user(thread: str, *texts: str) -> Any:
    """Params of a message that a user sends."""
    return {"threadId": thread, "message": {"role": "user", "chunks": [chunk(text) for text in texts]}}


INTRODUCED = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}}},
}


def ready(agent: Any = INTRODUCED, settings: EdgeSettings | None = None) -> Alone:
    """A client's edge whose agent is initialized, with one thread `t` that is open."""
    alone = Alone("client", settings)
    ((_, asked),) = alone.peer({"id": 0, "method": "createThread", "params": None})
    ((_, new),) = alone.inside({"jsonrpc": "2.0", "id": asked["id"], "result": agent})
    ((_, told),) = alone.inside({"jsonrpc": "2.0", "id": new["id"], "result": {"sessionId": "t"}})
    assert told == {"id": 0, "result": {"threadId": "t"}}
    return alone


def introduced(client: Any = None) -> Alone:
    """An agent's edge whose client has introduced itself, with one session `t`."""
    alone = Alone("agent")
    params = {"protocolVersion": 1, "clientCapabilities": client or {}}
    alone.ask("i", "initialize", params)
    ((_, created),) = alone.ask("n", "session/new", {"cwd": "/field", "mcpServers": []})
    ((_, told),) = alone.peer({"id": created["id"], "result": {"threadId": "t"}})
    assert told == {"jsonrpc": "2.0", "id": "n", "result": {"sessionId": "t"}}
    return alone
