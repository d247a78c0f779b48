"""A v1 client and a v2 agent with the edge between them, and nothing else: what one says, the other hears.

    stage = Stage(open=True)
    stage.client(4, "session/prompt", sessionId="s", prompt=[text("hi")])
    assert stage.heard_by_agent == [...]

Frames are plain objects. What was heard is taken away by looking at it.
"""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, decode, encode
from dragoman.dialect.v2 import V2Agent

Frame = dict[str, Any]

WELCOME: Frame = {
    "protocolVersion": 2,
    "info": {"name": "heron", "version": "3.1"},
    "capabilities": {"session": {"prompt": {"image": {}}, "mcp": {"stdio": {}, "http": {}}}},
}


def message(frame: Frame) -> Message:
    found = decode(json.dumps(frame).encode())
    assert found is not None
    return found


def text(words: str) -> Frame:
    return {"type": "text", "text": words}


class Stage:
    """`open`: the session `s` is there, and nobody remembers how."""

    def __init__(
        self,
        *,
        open: bool = False,
        capabilities: Frame | None = None,
        settings: EdgeSettings | None = None,
        **opened: Any,
    ) -> None:
        self.ledger = Ledger()
        self.edge = V2Agent(settings or EdgeSettings(), self.ledger)
        self.ways: dict[str, list[Frame]] = {"inside": [], "peer": [], "host": []}
        if open:
            self.client(1, "initialize", protocolVersion=1, clientCapabilities=capabilities or {})
            self.agent_answers(1, WELCOME)
            self.client(2, "session/new", cwd="/pond", mcpServers=[])
            self.agent_answers(2, {"sessionId": "s", **opened})
            self.forget()

    # what the client says

    def client(self, id: Any, method: str, /, **params: Any) -> None:
        self._take(
            self.edge.from_inside(message({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        )

    def client_tells(self, method: str, /, **params: Any) -> None:
        self._take(self.edge.from_inside(message({"jsonrpc": "2.0", "method": method, "params": params})))

    def client_answers(self, id: Any, result: Any = None, *, error: Any = None) -> None:
        self._take(self.edge.from_inside(message(answer(id, result, error))))

    def prompts(self, id: Any, words: str = "swim") -> None:
        self.client(id, "session/prompt", sessionId="s", prompt=[text(words)])

    # what the agent says

    def agent(self, id: Any, method: str, /, **params: Any) -> None:
        self._take(
            self.edge.from_peer(message({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        )

    def agent_tells(self, method: str, /, **params: Any) -> None:
        self._take(self.edge.from_peer(message({"jsonrpc": "2.0", "method": method, "params": params})))

    def agent_answers(self, id: Any, result: Any = None, *, error: Any = None) -> None:
        self._take(self.edge.from_peer(message(answer(id, result, error))))

    def updates(self, kind: str, /, **fields: Any) -> None:
        self.agent_tells("session/update", sessionId="s", update={"sessionUpdate": kind, **fields})

    def state(self, state: str, /, **fields: Any) -> None:
        self.updates("state_update", state=state, **fields)

    def host(self, frame: Frame) -> None:
        self._take(self.edge.from_host(message(frame)))

    def agent_ends(self) -> None:
        self._take(self.edge.peer_ended())

    # what was heard

    @property
    def heard_by_client(self) -> list[Frame]:
        return self._heard("inside")

    @property
    def heard_by_agent(self) -> list[Frame]:
        return self._heard("peer")

    @property
    def heard_by_host(self) -> list[Frame]:
        return self._heard("host")

    @property
    def shown(self) -> list[Frame]:
        """The updates that the client heard; it must have heard nothing else."""
        heard = self.heard_by_client
        assert [frame.get("method") for frame in heard] == ["session/update"] * len(heard)
        return [frame["params"]["update"] for frame in heard]

    @property
    def losses(self) -> list[str]:
        return [entry.what for entry in self.ledger.entries if entry.outcome == "lost"]

    @property
    def repairs(self) -> list[str]:
        return [entry.what for entry in self.ledger.entries if entry.outcome == "repaired"]

    def forget(self) -> None:
        for way in self.ways.values():
            way.clear()

    def _heard(self, way: str) -> list[Frame]:
        heard, self.ways[way] = self.ways[way], []
        return heard

    def _take(self, outs: list[Out]) -> None:
        for toward, found in outs:
            self.ways[toward].append(json.loads(encode(found)))


def answer(id: Any, result: Any, error: Any = None) -> Frame:
    told = {"error": error} if error is not None else {"result": result}
    return {"jsonrpc": "2.0", "id": id, **told}


def request(id: Any, method: str, /, **params: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
