"""A v1 client and a v1 agent who talk in a dialect: two interpreters back to back, and nobody in between.

    client ─v1─ agent's edge ═dialect═ client's edge ─v1─ agent

Both answer what they are asked when the test says so, in whatever order it says. What one asks of a host is
refused. Every answer that anybody gets is counted.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Any, Literal

from dragoman.dialect import EdgeSettings, Ledger, TranslatedFrames, Translator, make_edge
from dragoman.dialect.message import refusal

Who = Literal["client", "agent"]


class Party:
    """One end, speaking v1: what it asked, what it owes, what it heard."""

    def __init__(self) -> None:
        self.asked: dict[Any, str] = {}
        self.answers: Counter[Any] = Counter()
        self.owes: list[Any] = []
        self.heard: list[Any] = []

    def hear(self, frame: Any) -> None:
        self.heard.append(frame)
        if "method" not in frame:
            self.answers[frame["id"]] += 1
        elif "id" in frame:
            self.owes.append(frame)


class World:
    """Everything that is said arrives before the next thing is said."""

    def __init__(self, dialect: str, *, client: str | None = None, agent: str | None = None) -> None:
        """`client` and `agent` are what their edges take the peer to speak, if not this dialect."""
        self.mistakes: list[Exception] = []
        self.ledger = Ledger()
        self.sessions: list[str] = []
        self.said = ""  # by the agent, in chunks
        self.cancelled = False  # whether the client cancelled anything
        self.loaded = False  # whether it asked for a replay
        self.parties: dict[Who, Party] = {"client": Party(), "agent": Party()}
        settings = EdgeSettings(cwd="/w")
        self.edges: dict[Who, Translator] = {
            # The client's neighbour is the edge whose peer is an agent, and the other way round.
            "client": self._translator(agent or dialect, "agent", settings),
            "agent": self._translator(client or dialect, "client", settings),
        }

    def _translator(self, dialect: str, position: Any, settings: EdgeSettings) -> Translator:
        edge = make_edge(dialect, position, settings, self.ledger)
        return Translator([edge], self.ledger, on_mistake=self.mistakes.append)

    def say(self, who: Who, frame: Any) -> None:
        """In a spelling that nobody would choose, so that what was written anew can be told."""
        if "method" in frame and "id" in frame:
            self.parties[who].asked[frame["id"]] = frame["method"]
        block = odd(frame)
        self._deliver(who, self.edges[who].from_inside(block))

    def ask(self, who: Who, method: str, params: Any) -> None:
        id_ = f"{who}-{len(self.parties[who].asked)}"
        self.say(who, {"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def answer(self, who: Who, position: int, *, well: bool = True) -> None:
        """Answer one of the requests that this party owes an answer to."""
        asked = self.parties[who].owes.pop(position % len(self.parties[who].owes))
        shell = {"jsonrpc": "2.0", "id": asked["id"]}
        if well:
            self.say(who, {**shell, "result": self._result(asked)})
        else:
            self.say(who, {**shell, "error": {"code": -32603, "message": "Internal error"}})

    def settle(self) -> None:
        """Answer everything, until nobody owes anything."""
        for _ in range(1000):
            owing = [who for who in self.parties if self.parties[who].owes]
            if not owing:
                return
            self.answer(owing[0], 0)
        raise AssertionError("they ask each other for ever")

    def _result(self, asked: Any) -> Any:
        match asked["method"]:
            case "initialize":
                capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}, "close": {}}}
                info = {"name": "a", "version": "1"}
                return {"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": info}
            case "session/new":
                self.sessions.append(f"session-{len(self.sessions)}")
                return {"sessionId": self.sessions[-1]}
            case "session/prompt":
                return {"stopReason": "end_turn"}
            case "session/list":
                return {"sessions": []}
            case "session/request_permission":
                return {"outcome": {"outcome": "selected", "optionId": "no"}}
            case "fs/read_text_file":
                return {"content": "text"}
            case _:
                return {}

    def _deliver(self, who: Who, passed: TranslatedFrames) -> None:
        """Follow what came of it, in order, until all of it has arrived somewhere."""
        waiting = deque([(who, passed)])
        while waiting:
            at, came = waiting.popleft()
            for line in came.inside.splitlines():
                self.parties[at].hear(json.loads(line))
            other: Who = "agent" if at == "client" else "client"
            if came.peer:
                waiting.append((other, self.edges[other].from_peer(came.peer)))
            for position, question in came.host:
                sorry = refusal(question.id, -32601, "Method not found")
                waiting.append((at, self.edges[at].from_host(position, sorry)))

    def end(self) -> None:
        """The wire breaks."""
        for who in self.parties:
            for line in self.edges[who].peer_ended().inside.splitlines():
                self.parties[who].hear(json.loads(line))


def odd(frame: Any) -> bytes:
    return json.dumps(frame, separators=(" ,", " : ")).encode() + b"\n"


def texts(frames: list[Any]) -> str:
    """What was said in chunks of the agent's message."""
    updates = [frame["params"]["update"] for frame in frames if frame.get("method") == "session/update"]
    return "".join(
        one["content"]["text"] for one in updates if one.get("sessionUpdate") == "agent_message_chunk"
    )
