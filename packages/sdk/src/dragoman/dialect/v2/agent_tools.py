"""Lends a v1 client's files and terminals to a v2 agent, as tools of an additional MCP server.

v2 agents do not ask for files and commands. They start MCP servers, though, and whoever runs the interpreter
can be one. This knows whom to ask for the server and which request of it is which; what takes IO is the
host's. What edge and host say to each other:

    client_tools/offer {tools}              edge asks; answered with {server}, an entry of `mcpServers`
    client_tools/bind {offer, sessionId}    edge tells: the session that got that server is open
    client_tools/withdraw {offer}           edge tells: that session is over, or never was
    fs/…, terminal/…                        host asks the client through the edge
"""

from __future__ import annotations

from msgspec import Struct, UnsetType

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Out
from dragoman.dialect.message import (
    Id,
    Json,
    Message,
    Object,
    answer,
    as_object,
    notification,
    refusal,
    request,
)
from dragoman.wire.codes import INTERNAL_ERROR, NAMES


class PendingOpening(Struct, frozen=True):
    """A request that waits for the server that its session is to have."""

    message: Message
    params: Object


class ClientToolOffers:
    """The client's tools for the agent, in one conversation."""

    def __init__(self) -> None:
        self._offers = OwnIds("offer")
        self._ids = OwnIds("dragoman-client-tools")
        self._waiting: dict[str, PendingOpening] = {}
        self._requests: PendingRequests[tuple[Id | UnsetType]] = (
            PendingRequests()
        )  # the client's debts to the host

    def offer(self, opening: PendingOpening, tools: tuple[str, ...]) -> list[Out]:
        """Request an MCP server from the host; the opening of the session waits."""
        offer = self._offers.next()
        self._waiting[offer] = opening
        return [("host", request(offer, "client_tools/offer", {"tools": list(tools)}))]

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def on_grant(self, message: Message) -> tuple[str, PendingOpening, Json] | None:
        """Read the host's answer to an offer: its name, what waited for it, the server or None."""
        opening = self._waiting.pop(message.id, None) if type(message.id) is str else None
        if opening is None:
            return None
        return str(message.id), opening, as_object(message.result).get("server")

    def forget(self, request_id: Json) -> bool:
        """The client wants its opening back; whether it was still here."""
        for offer, opening in self._waiting.items():
            if opening.message.id == request_id:
                del self._waiting[offer]
                return True
        return False

    def ask(self, message: Message) -> list[Out]:
        """Send the client a request of the host."""
        own = self._ids.next()
        self._requests.owe(own, (message.id,))
        return [("inside", request(own, str(message.method), message.params))]

    def owns(self, request_id: Json) -> bool:
        return type(request_id) is str and self._requests.look(request_id) is not None

    def on_answer(self, message: Message) -> list[Out]:
        """The client's answer to the host."""
        (host_id,) = self._requests.settle(message.id) or (None,)
        error = as_object(message.error)
        if error:
            code = error.get("code")
            code = code if type(code) is int else INTERNAL_ERROR
            why = error.get("message")
            text = why if type(why) is str else NAMES[INTERNAL_ERROR]
            return [("host", refusal(host_id, code, text))]
        return [("host", answer(host_id, message.result))]

    def openings(self) -> list[PendingOpening]:
        openings = list(self._waiting.values())
        self._waiting.clear()
        return openings


def bind_message(offer: str, session_id: str) -> Out:
    return "host", notification("client_tools/bind", {"offer": offer, "sessionId": session_id})


def withdrawn(offer: str) -> Out:
    return "host", notification("client_tools/withdraw", {"offer": offer})
