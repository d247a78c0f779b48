"""Initializes the agent first, on behalf of a client that never sends `initialize`.

What the client asks meanwhile is held, within bounds, and goes on in its order. If the agent cannot be
initialized, everything that was held is answered with why, and the next request tries again.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import UNSET

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, Object, as_object, encode
from dragoman.dialect.permission import answer_unasked
from dragoman.dialect.threads.exchange import ThreadsEdge
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND

MOST_HELD = 4 * 1024 * 1024
"""The most bytes that wait for the agent's `initialize` answer: some long messages."""

BUSY = "too much is waiting already"


class IntroducingEdge(ThreadsEdge):
    """The edge in front of a v1 agent. `client_capabilities` are announced for the client."""

    client_capabilities: ClassVar[Object] = {}
    asks_permission = False

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self.capabilities: Object | None = None  # the agent's, once it is initialized
        self._introducing = False
        self._held_messages: list[Message] = []
        self._held_bytes = 0

    @abstractmethod
    def asked_when_ready(self, message: Message) -> list[Out]:
        """Handle a client's request once the agent is initialized."""

    def when_ready(self, message: Message) -> list[Out]:
        if self.capabilities is not None:
            return self.asked_when_ready(message)
        size = len(encode(message))
        if self._held_bytes + size > MOST_HELD:
            return [self.refuse_peer(message.id, INTERNAL_ERROR, BUSY)]
        self._held_messages.append(message)
        self._held_bytes += size
        if self._introducing:
            return []
        self._introducing = True
        params = {
            "protocolVersion": 1,
            "clientCapabilities": self.client_capabilities,
            "clientInfo": {"name": "dragoman-threads", "version": "1"},
        }
        self.note(RepairNotes.INTRODUCTION)
        return [self.ask_inside("initialize", self.announce_limits(params), self._on_introduction)]

    def _on_introduction(self, answer: Message) -> list[Out]:
        messages, self._held_messages, self._held_bytes = self._held_messages, [], 0
        self._introducing = False
        if answer.error is not UNSET:
            return [self.fail_peer(message.id, answer.error) for message in messages]
        result = as_object(answer.result)
        if result.get("protocolVersion") != 1:
            why = "the agent speaks another version of its protocol"
            return [self.refuse_peer(message.id, INTERNAL_ERROR, why) for message in messages]
        self.capabilities = as_object(result.get("agentCapabilities"))
        return [out for message in messages for out in self.asked_when_ready(message)]

    def can(self, *path: str) -> bool:
        """Whether the agent has a capability: any value except absent, null and false."""
        value: object = self.capabilities
        for name in path:
            value = as_object(value).get(name)
        return value is not None and value is not False

    def session_setup(self, cwd: str | None = None) -> Object:
        """Return the params for every new session."""
        return {"cwd": cwd or self.settings.cwd, "mcpServers": list(self.settings.mcp_servers)}

    def refused_to_agent(self, message: Message) -> list[Out]:
        """The methods that an agent may call at other clients but not here."""
        method = str(message.method)
        if method == "session/request_permission":
            if self.settings.answers_for_peer:
                self.note(Lost.PERMISSION)
            return [("inside", answer_unasked(message, self))]
        if method == "fs/write_text_file":
            self.note(Lost.WRITES)
        elif method.startswith("terminal/"):
            self.note(Lost.TERMINALS)
        return [self.refuse_inside(message.id, METHOD_NOT_FOUND, "Method not found")]
