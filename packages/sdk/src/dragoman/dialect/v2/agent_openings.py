"""Opens sessions of a v2 agent, and gives it the client's files and terminals where possible.

A session that is to have them waits for the host's word; everybody else goes on meanwhile.
"""

from __future__ import annotations

from msgspec import Struct, UnsetType

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.message import (
    Id,
    Json,
    Message,
    Object,
    answer,
    as_list,
    as_object,
    as_text,
    notification,
    refusal,
    request,
    without,
)
from dragoman.dialect.v2.agent_handshake import V2Welcome
from dragoman.dialect.v2.agent_requests import ForwardedRequest, ForwardedRequests
from dragoman.dialect.v2.agent_session import V2AgentSession, V2AgentSessions
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR, INVALID_PARAMS, NAMES


class Openings:
    """The requests of a conversation that open sessions."""

    def __init__(
        self,
        report: LossReporter,
        settings: EdgeSettings,
        sessions: V2AgentSessions,
        requests: ForwardedRequests,
    ) -> None:
        self._tell = report
        self._settings = settings
        self._sessions = sessions
        self._requests = requests
        self._welcome = V2Welcome(stdio=True)
        self.lending = ClientToolOffers()

    def on_welcome(self, welcome: V2Welcome) -> None:
        """Read the agent's capabilities."""
        self._welcome = welcome
        if self._sessions.abilities.tools and not self._lends:
            self._lends_nothing()

    def on_request(self, message: Message, params: Object) -> list[Out]:
        """Handle a request of the client that opens a session."""
        try:
            v2_params = opening(str(message.method), params, stdio=self._welcome.stdio, report=self._tell)
        except SetupRefused as why:
            return [("inside", refusal(message.id, INVALID_PARAMS, f"Invalid params: {why}"))]
        if self._lends:
            return self.lending.offer(PendingOpening(message, v2_params), self._sessions.abilities.tools)
        return self._open(message, v2_params)

    def on_grant(self, message: Message) -> list[Out]:
        """Handle the host's answer to an offer."""
        grant = self.lending.on_grant(message)
        if grant is None:
            return []
        offer, waiting, server = grant
        if server is None:
            self._lends_nothing()
            return self._open(waiting.message, waiting.params)
        return self._open(waiting.message, with_server(waiting.params, server), offer)

    def withdraw(self, request_id: Id) -> list[Out]:
        """Cancel a waiting request to open a session. Does nothing if the request does not wait."""
        if not self.lending.forget(request_id):
            return []
        return [("inside", refusal(request_id, CANCELLED, NAMES[CANCELLED]))]

    def on_open(
        self, request: ForwardedRequest, result: Object
    ) -> tuple[list[Out], V2AgentSession, list[Object]]:
        """Handle the agent's answer: the messages to send now, and those to send after everything else."""
        session = self._sessions.of(request.session or as_text(result.get("sessionId")))
        result_in_v1, after = session.on_open(result)
        outs: list[Out] = []
        if request.offer:
            session.offer = request.offer
            outs = [bind_message(request.offer, session.id)]
        return [*outs, ("inside", answer(request.client_id, result_in_v1))], session, after

    def over(self, offer: str) -> list[Out]:
        """Stop providing the tools with this name."""
        return [withdrawn(offer)] if offer else []

    def _open(self, message: Message, params: Object, offer: str = "") -> list[Out]:
        method, session_id = str(message.method), ""
        if method in ("session/load", "session/resume"):  # the others open one that has no id yet
            session = self._sessions.of(as_text(params.get("sessionId")))
            session_id, session.cwd = session.id, as_text(params.get("cwd")) or "/"
            if method == "session/load":
                session.begin_again()
        return [self._requests.send(message, OPENING[method], params, session_id, offer=offer)]

    @property
    def _lends(self) -> bool:
        """Whether somebody can be asked to lend the client's tools, and the agent can take them."""
        return bool(self._sessions.abilities.tools) and self._welcome.stdio and self._settings.client_tools

    def _lends_nothing(self) -> None:
        self._tell.note_loss("the client's files and terminals", "not lent: a v2 agent does not ask for them")


# Lends a v1 client's files and terminals to a v2 agent, as tools of an additional MCP server.
#
# v2 agents do not ask for files and commands. They start MCP servers, though, and whoever runs the
# interpreter can be one. This knows whom to ask for the server and which request of it is which; what takes
# IO is the host's. What edge and host say to each other:
#
#     client_tools/offer {tools}              edge asks; answered with {server}, an entry of `mcpServers`
#     client_tools/bind {offer, sessionId}    edge tells: the session that got that server is open
#     client_tools/withdraw {offer}           edge tells: that session is over, or never was
#     fs/…, terminal/…                        host asks the client through the edge


class PendingOpening(Struct, frozen=True):
    """A request that waits for the tool server of its session."""

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
        """Read the host's answer to an offer: its name, the waiting request, and the server or None."""
        opening = self._waiting.pop(message.id, None) if type(message.id) is str else None
        if opening is None:
            return None
        return str(message.id), opening, as_object(message.result).get("server")

    def forget(self, request_id: Json) -> bool:
        """Cancel the client's waiting request; return whether it was still waiting."""
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
        """Pass the client's answer to the host."""
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


# Creates and opens sessions: translates the v1 client's requests, and the v2 agent's answers.


class SetupRefused(Exception):
    """The client requests something that the agent can't have. The text is for the client."""


OPENING = {
    "session/new": "session/new",
    "session/load": "session/resume",
    "session/resume": "session/resume",
    "session/fork": "session/fork",
}
"""The methods that open a session, and their names in v2."""

RENAMED = {"authenticate": "auth/login", "logout": "auth/logout"}

REPLAY_ALL: Object = {"type": "start"}


def opening(method: str, params: Object, *, stdio: bool, report: LossReporter) -> Object:
    """Return the params of a request that opens a session. Raises `SetupRefused`."""
    v2_params = {**params, "mcpServers": servers(params.get("mcpServers"), stdio=stdio, report=report)}
    if v2_params.get("additionalDirectories") is None:
        v2_params = without(v2_params, "additionalDirectories")
    return {**v2_params, "replayFrom": REPLAY_ALL} if method == "session/load" else v2_params


def servers(value: Json, *, stdio: bool, report: LossReporter) -> list[Object]:
    """Translate MCP servers into v2, where each server names its type."""
    servers = [_server(as_object(item), report) for item in as_list(value)]
    if not stdio and any(server["type"] == "stdio" for server in servers):
        report.note_loss("an MCP server that the agent should start", "refused: the agent starts none")
        raise SetupRefused("this agent starts no MCP servers of its own: it offers no stdio")
    return servers


def with_server(params: Object, server: Json) -> Object:
    """Add an MCP server to the params of a session, unless the client already has one of that name."""
    there = as_list(params.get("mcpServers"))
    names = [as_object(item).get("name") for item in there]
    entry = as_object(server)
    if not fits(entry.get("command"), str) or entry.get("name") in names:
        return params
    return {**params, "mcpServers": [*there, {"type": "stdio", **entry}]}


def _server(item: Object, report: LossReporter) -> Object:
    kind = item.get("type", "stdio")
    if kind == "sse":
        report.note_loss("an MCP server over SSE", "refused: v2 has no such transport")
        raise SetupRefused("version 2 of the protocol, which this agent speaks, has no MCP servers over SSE")
    if type(kind) is not str:
        raise SetupRefused("an MCP server has a type that is not text")
    return {"type": kind, **{name: value for name, value in item.items() if value is not None}}
