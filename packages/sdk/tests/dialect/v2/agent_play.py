"""Recorded conversations of v2, played with a v1 client in the place of the recorded client.

What the recorded client said is put into v1 by a small inverse, which is not the edge's on purpose: what
the edge makes of it must be what was recorded.
"""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.edge import EdgeSettings
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import decode, encode
from dragoman.dialect.v2 import V2Agent
from tests.interop.recordings import Conversation

Frame = dict[str, Any]


def in_v1(frame: Frame) -> Frame:
    """What a v1 client would have said instead."""
    params = frame.get("params", {})
    method = frame.get("method")
    if method == "initialize":
        wanted = {**params["capabilities"], "session": {"configOptions": {"boolean": {}}}}
        params = {"protocolVersion": 1, "clientInfo": params["info"], "clientCapabilities": wanted}
    elif method in ("session/new", "session/resume"):
        servers = [{k: v for k, v in server.items() if k != "type"} for server in params["mcpServers"]]
        params = {**params, "mcpServers": servers}
    if "replayFrom" in params:
        method, params = "session/load", {k: v for k, v in params.items() if k != "replayFrom"}
    if method == "session/set_config_option":
        params = {k: v for k, v in params.items() if k != "type"}
    return {**frame, "method": method, "params": params} if method else frame


class Play:
    """All that was said, in the order in which it was: (direction, frame), as the v1 client saw it."""

    def __init__(self, conversation: Conversation) -> None:
        self.ledger = Ledger()
        self.edge = V2Agent(EdgeSettings(), self.ledger)
        self.said: list[tuple[str, Frame]] = []
        self.changed: list[tuple[list[Frame], Frame]] = []
        """What reached the agent where something else was recorded."""
        for recorded in conversation.frames:
            frame = json.loads(recorded.raw)
            self.ledger.frame += 1
            (self._client if recorded.to == "agent" else self._agent)(frame)
        self._hear(self.edge.peer_ended())

    def _client(self, frame: Frame) -> None:
        said = in_v1(frame)
        self.said.append(("to_agent", said))
        reached = self._hear(self.edge.from_inside(read(said)))
        wanted = reached if frame.get("method") == "initialize" else [frame]
        if reached != wanted:
            self.changed.append((reached, frame))

    def _agent(self, frame: Frame) -> None:
        assert self._hear(self.edge.from_peer(read(frame))) == []

    def _hear(self, outs: Any) -> list[Frame]:
        frames = [(toward, json.loads(encode(message))) for toward, message in outs]
        self.said += [("to_client", frame) for toward, frame in frames if toward == "inside"]
        return [frame for toward, frame in frames if toward == "peer"]


def read(frame: Frame) -> Any:
    return decode(json.dumps(frame).encode())
