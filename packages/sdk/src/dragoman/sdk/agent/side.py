"""A running agent: handles the messages of one client, in one connection.

Sessions and turns live here. Everything that a client may not rely on is refused with the code that the
protocol names for it; a failing handler costs its own answer and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import UNSET, Raw, to_builtins

from dragoman.core import IncomingRequest, negotiate
from dragoman.decoders import convert
from dragoman.errors import ErrorAnswer
from dragoman.runtime.router import Answer
from dragoman.runtime.session_queues import EACH
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.schema.scalars import is_absolute
from dragoman.schema.steering import STEERING, announced_steering
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.agent.session import AgentSession, ClientHandle
from dragoman.sdk.agent.steering import read_steering
from dragoman.sdk.agent.turns import AgentTurns
from dragoman.sdk.capabilities import AGENT_NOTIFICATIONS, AGENT_REQUESTS, Capabilities, peer_capabilities
from dragoman.sdk.handlers import Handler
from dragoman.sdk.inbound import read_params, read_plain
from dragoman.sdk.outbound import write_answer
from dragoman.wire.codes import invalid_params, method_not_found, session_not_found

if TYPE_CHECKING:
    from dragoman.runtime.link import Link

SUPPORTED = (1,)

BACKLOG = "notifications wait for their handlers"

# Requests that bring a session to life; the others need one that lives.
_OPENING = {"session/load", "session/resume", "session/fork"}
# Requests that may name a session that is stored but not open here.
_STORED = {"session/delete", "session/archive", "session/unarchive", "session/status", "session/set_title"}


class AgentSide:
    """The router of an agent's link."""

    __slots__ = ("_turns", "agent", "client", "sessions")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.sessions: dict[str, AgentSession] = {}

    def attach(self, link: Link) -> None:
        self.client = ClientHandle(link, self.sessions)
        self._turns = AgentTurns(self.agent, self.client)

    # The router's face.

    def on_request(self, incoming: IncomingRequest) -> Answer:
        method = incoming.method
        if method == "session/prompt":
            return self._prompt(incoming)
        if method == "initialize":
            return self._initialize(incoming.params)
        if method == "session/new":
            return self._new_session(incoming.params)
        if method == "session/close":
            return self._close_session(incoming.params)
        if method == STEERING and self.agent.is_steerable:
            return self._steer(incoming.params)
        handler = self.agent.handlers.get(method)
        if handler is not None and method.startswith("_"):
            return self._extension(handler, incoming.params)
        if handler is None or method not in AGENT_REQUESTS:  # a notification with an id is not a request
            raise method_not_found(method)
        return self._answer_typed(method, handler, incoming.params)

    def on_notification(self, method: str, params: Raw | None) -> None:
        if method == "session/cancel":
            self._cancel(params)
        handler = self.agent.handlers.get(method)
        extension = method.startswith("_")
        if handler is None or not (extension or method in AGENT_NOTIFICATIONS):
            return  # nobody listens, or it is a request without an id, which nobody would get the answer of
        try:
            kind = None if extension else AGENT_NOTIFICATIONS[method].params
            message = read_plain(params) if kind is None else read_params(params, kind)
        except ErrorAnswer:
            return  # a notification: nobody can be told that it makes no sense
        lane = getattr(message, "session_id", None)
        if handler.is_async:
            work = functools.partial(handler.now, message, self.client)
            size = EACH + (0 if params is None else memoryview(params).nbytes)
            self.client.link.lanes.submit(lane, work, size)
        else:
            handler.now(message, self.client)

    def on_block(self, block: bytes) -> int:
        return 0  # a client says little that is not a request

    def on_block_end(self, size: int) -> None:
        link = self.client.link
        if link.lanes or link.on_hold:
            calling = bool(link.connection.calls)  # an answer may be what its handlers wait for
            max_bytes = link.limits.backlog_hard_bytes if calling else link.limits.backlog_bytes
            (link.hold if link.lanes.size > max_bytes else link.listen)(BACKLOG)

    def on_cancel_request(self, incoming: IncomingRequest) -> bool:
        return self._turns.cancel_request(incoming)

    # What the SDK answers itself.

    def _initialize(self, params: Raw | None) -> Answer:
        request = read_params(params, v1.InitializeRequest)
        version = negotiate(request.protocol_version, SUPPORTED)
        self.client.introduce(request, version)
        own = self.agent.handlers.get("initialize")
        if own is None:
            return _write_answer("initialize", offer(self.agent, request, version))
        return self._initialize_with(own, request, version)

    async def _initialize_with(self, own: Handler, request: v1.InitializeRequest, version: int) -> bytes:
        answer: v1.InitializeResponse | None = await own.work(request, self.client)
        return _write_answer("initialize", answer or offer(self.agent, request, version))

    def _new_session(self, params: Raw | None) -> Answer:
        request = read_params(params, v1.NewSessionRequest)
        self._check_setup(request)
        own = self.agent.handlers.get("session/new")
        if own is not None:
            return self._open_with(own, "session/new", request)
        session_id = str(uuid4())
        self._open(session_id, request)
        return write(v1.NewSessionResponse(session_id=session_id))

    def _close_session(self, params: Raw | None) -> Answer:
        request = read_params(params, v1.CloseSessionRequest)
        session = self.session(request.session_id)
        session.closing = True
        return self._close(session, request)

    async def _close(self, session: AgentSession, request: v1.CloseSessionRequest) -> bytes:
        # The running turn is answered first, as by a cancel; then the session is gone, whatever its handler
        # does.
        try:
            await self._turns.cancel_and_wait(session.id)
            own = self.agent.handlers.get("session/close")
            if own is not None:
                await own.work(request, self.client)
        finally:
            if self.sessions.get(session.id) is session:  # it may have been loaded anew meanwhile
                del self.sessions[session.id]
        return b"{}"

    def _prompt(self, incoming: IncomingRequest) -> Answer:
        request = read_params(incoming.params, v1.PromptRequest)
        session = self.session(request.session_id)
        return self._turns.prompt(incoming, session, request)

    def _steer(self, params: Raw | None) -> Answer:
        request, prompts_itself = read_steering(params)
        return self._turns.steer(self.session(request.session_id), request, prompts_itself=prompts_itself)

    def _cancel(self, params: Raw | None) -> None:
        try:
            request = read_params(params, v1.CancelNotification)
        except ErrorAnswer:
            return  # a cancel is a notification: nobody can be told that it makes no sense
        self._turns.cancel(request.session_id)

    # Handlers of the agent's author.

    def _answer_typed(self, method: str, handler: Handler, params: Raw | None) -> Answer:
        entry = AGENT_REQUESTS[method]
        request = read_params(params, entry.params)
        if method in _OPENING:
            self._check_setup(request)
            return self._open_with(handler, method, request)
        session_id = getattr(request, "session_id", None)
        if session_id is not None and method not in _STORED:
            self.session(session_id)
        return self._run_handler(method, handler, request)

    async def _run_handler(self, method: str, handler: Handler, request: object) -> bytes:
        return _write_answer(method, await handler.work(request, self.client))

    async def _open_with(self, handler: Handler, method: str, request: object) -> bytes:
        session_id = getattr(request, "session_id", None) if method != "session/fork" else None
        fresh = session_id is not None and (
            session_id not in self.sessions or self.sessions[session_id].closing
        )
        if session_id is not None and fresh:
            self._open(session_id, request)  # its handler speaks in it: a load replays before it answers
        try:
            answer = await handler.work(request, self.client)
            result = _write_answer(method, answer)
        except BaseException:
            if session_id is not None and fresh:  # one that was open before stays open
                self.sessions.pop(session_id, None)
            raise
        opened_id = session_id or answer.session_id
        if opened_id not in self.sessions:
            self._open(opened_id, request)
        return result

    @staticmethod
    async def _extension_answer(work: Coroutine[object, None, object]) -> bytes:
        return write(await work)

    def _extension(self, handler: Handler, params: Raw | None) -> Answer:
        return self._extension_answer(handler.work(read_plain(params), self.client))

    # Sessions.

    def session(self, session_id: str) -> AgentSession:
        session = self.sessions.get(session_id)
        if session is None or session.closing:
            raise session_not_found(session_id)
        return session

    def _open(self, session_id: str, request: Any) -> None:
        self.sessions[session_id] = AgentSession(
            self.client,
            session_id,
            cwd=request.cwd,
            additional_directories=list(request.additional_directories or ()),
            mcp_servers=list(request.mcp_servers or ()),
        )

    def _check_setup(self, request: v1.NewSessionRequest) -> None:
        """Refuse before any work what the agent did not offer or what cannot be a folder."""
        folders = list(request.additional_directories or ())
        if folders and not self.agent.additional_directories:
            raise invalid_params("additionalDirectories were not advertised")
        for folder in (request.cwd, *folders):
            if not is_absolute(folder):
                raise invalid_params("cwd and additionalDirectories must be absolute paths")
        for server in request.mcp_servers or ():
            kind = server.__struct_config__.tag
            if (
                (kind == "http" and not self.agent.mcp_http)
                or (kind == "sse" and not self.agent.mcp_sse)
                or kind == "acp"
            ):
                raise invalid_params(f"MCP servers of type {kind} were not advertised")


def _write_answer(method: str, answer: object) -> bytes:
    return write_answer(answer, AGENT_REQUESTS[method].result, method)


# The capabilities that an agent advertises: exactly those that it has handlers for.

# The handler that stands behind each member of `sessionCapabilities`.
_SESSION_FEATURES = {
    "list": "session/list",
    "delete": "session/delete",
    "fork": "session/fork",
    "archive": "session/archive",
    "status": "session/status",
    "title": "session/set_title",
    "resume": "session/resume",
}


def offer(agent: Agent, request: v1.InitializeRequest, version: int) -> v1.InitializeResponse:
    """Return the answer to `initialize`."""
    return v1.InitializeResponse(
        protocol_version=version,
        agent_info=v1.Implementation(
            name=agent.name, version=agent.version, title=UNSET if agent.title is None else agent.title
        ),
        agent_capabilities=convert(_capabilities(agent), v1.AgentCapabilities),
        auth_methods=_auth_methods(agent, peer_capabilities(request.client_capabilities)),
        meta=_meta(agent, request) or UNSET,
    )


def _meta(agent: Agent, request: v1.InitializeRequest) -> dict[str, Any]:
    ours: dict[str, Any] = {"tools": to_builtins(agent.tools)} if agent.tools else {}
    if _is_our_client(request):
        # A turn that was answered can say nothing more (`TurnOver`), so nobody has to wait for it.
        ours["answersLast"] = True
    return {
        **({"dragoman": ours} if ours else {}),
        **(announced_steering() if agent.is_steerable else {}),
    }


def _is_our_client(request: v1.InitializeRequest) -> bool:
    """Whether the client knows what we say in `_meta`: other clients are not bothered with it."""
    capabilities = request.client_capabilities
    return (
        isinstance(capabilities, v1.ClientCapabilities)
        and isinstance(capabilities.meta, dict)
        and "dragoman" in capabilities.meta
    )


def _capabilities(agent: Agent) -> dict[str, Any]:
    has = agent.handlers
    sessions: dict[str, Any] = {name: {} for name, method in _SESSION_FEATURES.items() if method in has}
    sessions["close"] = {}  # the SDK itself knows how to end a session
    if agent.additional_directories:
        sessions["additionalDirectories"] = {}
    auth: dict[str, Any] = {
        name: {} for name, method in (("logout", "logout"), ("status", "auth/status")) if method in has
    }
    tree: dict[str, Any] = {
        "loadSession": "session/load" in has,
        "promptCapabilities": {
            "image": agent.image,
            "audio": agent.audio,
            "embeddedContext": agent.embedded_context,
        },
        "mcpCapabilities": {"http": agent.mcp_http, "sse": agent.mcp_sse},
        "sessionCapabilities": sessions,
        "auth": auth,
    }
    if "providers/list" in has:
        tree["providers"] = {}
    return tree


def _auth_methods(agent: Agent, client: Capabilities) -> list[Any]:
    # A method that needs a terminal is shown only to a client that can open one.
    may_open_terminal = "auth.terminal" in client
    return [
        method
        for method in agent.auth_methods
        if may_open_terminal or getattr(method.__struct_config__, "tag", None) != "terminal"
    ]
