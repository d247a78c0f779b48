"""Finds out the direction of a threads peer's methods: the one in the dialect's code or the one in its
document.

Both kinds of agent refuse a v1 `initialize` in the same way. So the agent is asked as the code has it. If it
does not know the first question, or asks one itself that only an agent as written asks, it is an agent as
written: what the client still waits for is asked anew in that direction. Anything else it says settles that
it is one of the code. A client speaks first, and the methods of the two directions have nothing in common:
its first request tells.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialect.clues_client import THREADS_ASKED_OF_AGENT, THREADS_ASKED_OF_CLIENT
from dragoman.dialect.edge import Edge, EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, as_object
from dragoman.dialect.threads.coded_agent import CodedAgent
from dragoman.dialect.threads.coded_client import CodedClient
from dragoman.dialect.threads.exchange import NAME
from dragoman.dialect.threads.written_agent import WrittenAgent
from dragoman.dialect.threads.written_client import WrittenClient
from dragoman.wire.codes import METHOD_NOT_FOUND


class ProbingClient(Edge):
    """Becomes one of the two edges at the client's first request, for good."""

    name = NAME
    asks_permission = False

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._edge: Edge = CodedClient(replace(settings, as_written=False), ledger)
        self._is_decided = False

    def succeeded_by(self) -> Edge:
        return self._edge if self._is_decided else self

    def from_inside(self, message: Message) -> list[Out]:
        return self._edge.from_inside(message)

    def from_peer(self, message: Message) -> list[Out]:
        if not self._is_decided and message.is_request:
            self._is_decided = True
            if message.method in THREADS_ASKED_OF_CLIENT:
                self._edge = WrittenClient(replace(self.settings, as_written=True), self.ledger)
        return self._edge.from_peer(message)

    def from_host(self, message: Message) -> list[Out]:
        return self._edge.from_host(message)

    def peer_ended(self) -> list[Out]:
        return self._edge.peer_ended()


class ProbingAgent(Edge):
    """Becomes one of the two edges, for good."""

    name = NAME

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._coded_agent = CodedAgent(replace(settings, as_written=False), ledger)
        self._edge: CodedAgent | WrittenAgent | None = None
        self._greeting: Message | None = None
        self._open: dict[object, Message] = {}  # what the client asked and has no answer to

    def succeeded_by(self) -> Edge:
        return self if self._edge is None else self._edge

    def from_inside(self, message: Message) -> list[Out]:
        if self._edge is not None:
            return self._edge.from_inside(message)
        if message.is_request:
            self._open[message.id] = message
            if message.method == "initialize":
                self._greeting = message
        return self._note_answers(self._coded_agent.from_inside(message))

    def from_peer(self, message: Message) -> list[Out]:
        if self._edge is not None:
            return self._edge.from_peer(message)
        if message.is_request and message.method in THREADS_ASKED_OF_AGENT:
            outs = self._become_written()
            return [*outs, *self.from_peer(message)]
        if message.is_answer and self._is_unknown_method(message):
            return self._become_written()
        self._edge = self._coded_agent
        return self._edge.from_peer(message)

    def from_host(self, message: Message) -> list[Out]:
        return self._coded_agent.from_host(message)

    def peer_ended(self) -> list[Out]:
        return (self._edge or self._coded_agent).peer_ended()

    def _is_unknown_method(self, message: Message) -> bool:
        is_answer = self._coded_agent.of_peer.look(message.id) is not None
        return is_answer and as_object(message.error).get("code") == METHOD_NOT_FOUND

    def _become_written(self) -> list[Out]:
        agent = WrittenAgent(replace(self.settings, as_written=True), self.ledger)
        agent.begin_ids_after(self._coded_agent.last_id)
        self._edge = agent
        if self._greeting is not None and self._greeting.id not in self._open:  # it has been answered
            with self.ledger.mute():
                agent.from_inside(self._greeting)
        return [out for message in self._open.values() for out in agent.from_inside(message)]

    def _note_answers(self, outs: list[Out]) -> list[Out]:
        for toward, message in outs:
            if toward == "inside" and message.is_answer and message.id is not UNSET:
                self._open.pop(message.id, None)
        return outs
