"""Serves agents that were written for the official Python SDK.

    from dragoman import serve
    from dragoman.sdk.official.adapter import adapt

    serve(adapt(MyAgent()))

The object keeps its own ways: keyword arguments in snake case, the official SDK's models in and out, and a
connection in `on_connect`. Everything between is ours: order, one turn at a time in a session, deadlines,
the armour of standard output. Models exist at this edge only; what crosses it is JSON.

Four things differ from the official runtime:

- `_meta` reaches the object in its `**kwargs` and nowhere else. It never replaces or fills in a parameter.
- A method that is merely inherited from the SDK's `Agent` class counts as missing: it would answer nothing.
- A cancelled turn is answered as cancelled even if the object goes on; its own `cancel` is told first.
- What the client did not advertise is refused here, with the error that the client should have sent.

The official SDK is an extra (`dragoman-sdk[official]`), imported when `adapt` is called, in this file alone.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias

from msgspec.structs import replace

from dragoman.errors import CallFailed, DeadlineExceeded, ErrorAnswer, LinkClosed
from dragoman.schema.codec import read, write
from dragoman.schema.v1 import CancelNotification, InitializeRequest, InitializeResponse, PromptResponse
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.agent.session import ClientHandle, Turn
from dragoman.sdk.capabilities import AGENT_REQUESTS, CLIENT_REQUESTS
from dragoman.sdk.handlers import Handler, Handlers
from dragoman.wire.codes import METHOD_NOT_FOUND, NAMES, invalid_params, method_not_found

# What the official SDK calls its handlers. `initialize`, `prompt`, `cancel` and extensions have rules of
# their own.
_HANDLERS = {
    "authenticate": "authenticate",
    "logout": "logout",
    "new_session": "session/new",
    "load_session": "session/load",
    "resume_session": "session/resume",
    "fork_session": "session/fork",
    "list_sessions": "session/list",
    "close_session": "session/close",
    "delete_session": "session/delete",
    "set_session_mode": "session/set_mode",
    "set_config_option": "session/set_config_option",
    "list_providers": "providers/list",
    "set_provider": "providers/set",
    "disable_provider": "providers/disable",
    "notify_mcp": "mcp/message",
}

# Its models are called what our messages are called, but for these.
_MODEL_NAMES = {
    "SetSessionConfigBooleanRequest": "SetSessionConfigOptionBooleanRequest",
    "SetSessionConfigValueRequest": "SetSessionConfigOptionSelectRequest",
}


def adapt(target: Any) -> Agent:
    """Return the agent that runs `target`: an object with the official SDK's agent methods, or a function
    that makes one from a connection.
    """
    # Any: which methods an object has, and which models it takes, is known only when it runs.
    import acp.core  # the only import of the official SDK; the models come along

    wire = OfficialWire(acp.core.RequestError)
    # The SDK's own connection, with our two ways to speak in place of its JSON-RPC. It keeps the signatures,
    # models and errors that an object was written for, whichever version of the SDK is installed.
    connection = acp.core.AgentSideConnection.__new__(acp.core.AgentSideConnection)
    connection._conn = wire  # type: ignore[assignment]
    target = target(connection) if callable(target) else target
    return _AdaptedAgent(target, acp, connection, wire).declare()


class _AdaptedAgent:
    """One object of the official SDK's making."""

    def __init__(self, target: Any, acp: Any, connection: Any, wire: OfficialWire) -> None:
        self._target = target
        self._acp = acp
        self._connection = connection
        self._wire = wire

    def declare(self) -> Agent:
        # Everything is let through: the object's own answer to `initialize` says what it takes.
        agent = Agent(
            type(self._target).__name__,
            image=True,
            audio=True,
            embedded_context=True,
            mcp_http=True,
            mcp_sse=True,
            additional_directories=True,
        )
        agent.initialize(self._initialize)
        if self._own("prompt") is not None:
            agent.prompt(self._prompt)
        for name, method in _HANDLERS.items():
            function = self._own(name)
            if function is not None:
                agent.handlers.add(method, partial(self._handle, function, method))
        agent.handlers = WithExtensions(
            agent.handlers,
            request=self._own("ext_method"),
            note=self._own("ext_notification"),
            run_call=self._run_call,
        )
        return agent

    def _own(self, name: str) -> Callable[..., Awaitable[object]] | None:
        """The object's method, unless it has only inherited the declaration."""
        method = getattr(self._target, name, None)
        declaration = getattr(self._acp.Agent, name, None)
        return None if method is None or getattr(method, "__func__", method) is declaration else method

    # What the client asks.

    async def _initialize(
        self, request: InitializeRequest, client: ClientHandle
    ) -> InitializeResponse | None:
        if self._wire.latest is not client:
            self._wire.latest = client
            on_connect = self._own("on_connect")
            if on_connect is not None:
                on_connect(self._connection)
        own = self._own("initialize")
        if own is None:
            return None
        answer: InitializeResponse | None = await self._handle(own, "initialize", request, client)
        # Some objects give back whatever version they were offered; only this one is spoken here.
        return answer and replace(answer, protocol_version=client.protocol_version)

    async def _prompt(self, turn: Turn) -> PromptResponse | None:
        function = self._own("prompt")
        assert function is not None
        work = asyncio.ensure_future(self._handle(function, "session/prompt", turn.request, turn.client))
        try:
            response: PromptResponse | None = await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._give_up(work, turn)
            raise
        return response

    async def _give_up(self, work: asyncio.Future[Any], turn: Turn) -> None:
        """An object that has a `cancel` ends a cancelled turn itself, in the time that the turn has left."""
        cancel = self._own("cancel") if turn.cancelled else None
        if cancel is None:
            work.cancel()
            await _wait_ended(work)
        else:
            note = CancelNotification(session_id=turn.session.id)
            cancellation = self._handle(cancel, "session/cancel", note, turn.client)
            await _wait_ended(asyncio.gather(work, cancellation, return_exceptions=True))

    async def _handle(
        self, function: Callable[..., Awaitable[object]], method: str, message: object, client: ClientHandle
    ) -> Any:
        name = type(message).__name__
        model = getattr(self._acp.schema, _MODEL_NAMES.get(name, name), None)
        if model is None:
            raise method_not_found(method)  # the installed version does not know it
        try:
            request = model.model_validate_json(write(message))
        except ValueError:  # it has an older schema than ours, and no place for something in here
            raise invalid_params("the official SDK cannot read this") from None
        answer = await self._run_call(function(**_arguments(function, request)), client)
        entry = AGENT_REQUESTS.get(method)
        return None if answer is None or entry is None else read(_encode(answer), entry.result)

    async def _run_call(self, work: Awaitable[object], client: ClientHandle) -> Any:
        asking.set(client)
        try:
            return await work
        except self._acp.RequestError as error:
            raise ErrorAnswer(error.code, str(error), error.data) from None


def _arguments(function: Callable[..., Any], request: Any) -> dict[str, Any]:
    """The request's fields as far as the function takes them, and its `_meta` where there is room for it."""
    fields = {name: getattr(request, name) for name in type(request).model_fields}
    meta: Mapping[str, Any] = fields.pop("field_meta", None) or {}
    fields.pop("type", None)  # tells apart two models of one method, which share the rest
    parameters = inspect.signature(getattr(function, "__func__", function)).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return {name: value for name, value in fields.items() if name in parameters}
    return {**{name: value for name, value in meta.items() if name not in parameters}, **fields}


def _encode(answer: Any) -> bytes:
    dump = getattr(answer, "model_dump_json", None)
    return write(answer) if dump is None else dump(by_alias=True, exclude_none=True).encode()


async def _wait_ended(work: asyncio.Future[Any]) -> None:
    """Wait for work whose result nobody wants; being cancelled meanwhile ends its respite."""
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            work.cancel()
    if not work.cancelled():
        work.exception()


# The object that a connection of the official SDK sends through when our runtime carries its messages.
#
# Two methods stand where the SDK has its JSON-RPC: one asks the client, one tells it. Errors leave as those
# that the SDK's users know. It does not know the SDK: whoever makes it brings the error class along.

asking: ContextVar[ClientHandle] = ContextVar("the client whose request is being handled")
"""The client that an object serves at the moment: it has one connection for all its clients."""


class OfficialWire:
    """Sends requests and notifications to the client, as plain data."""

    def __init__(self, error: Callable[..., Exception]) -> None:
        self._error = error
        self.latest: ClientHandle | None = None

    @property
    def client(self) -> ClientHandle:
        """The client whose request is being handled, otherwise the client that connected last."""
        client = asking.get(self.latest)
        if client is None:
            raise ConnectionError("no client has connected yet")
        return client

    async def send_request(self, method: str, params: object = None) -> Any:
        client = self.client
        entry = CLIENT_REQUESTS.get(method)
        if entry is not None and entry.capability is not None and entry.capability not in client.capabilities:
            raise self._error(METHOD_NOT_FOUND, NAMES[METHOD_NOT_FOUND], {"method": method})
        try:
            return await client.call(method, params)
        except CallFailed as call_error:
            raise self._error(call_error.code, call_error.message, call_error.data) from None
        except DeadlineExceeded as late:
            raise TimeoutError(str(late)) from None
        except LinkClosed as link_error:
            raise ConnectionError(str(link_error)) from None

    async def send_notification(self, method: str, params: object = None) -> None:
        try:
            await self.client.notify(method, params)
        except LinkClosed as link_error:
            raise ConnectionError(str(link_error)) from None

    async def close(self) -> None:
        await self.client.link.aclose()


# Extension methods in the official SDK's style: one function for all requests, one for all notifications.
#
# Both get the method's name without its underscore and an object of params. Our own way, a handler for each
# name, is looked up by name; here every name that begins with an underscore has a handler.

Function: TypeAlias = Callable[..., Awaitable[Any]]
RunCall: TypeAlias = Callable[[Awaitable[Any], ClientHandle], Coroutine[object, None, Any]]


class WithExtensions(Handlers):
    """The given handlers, and a handler for every extension method. `run_call` awaits the object's work."""

    __slots__ = ("_note", "_request", "_run_call")

    def __init__(
        self, handlers: Handlers, *, request: Function | None, note: Function | None, run_call: RunCall
    ) -> None:
        self._handlers = handlers._handlers
        self._request = request
        self._note = note
        self._run_call = run_call

    def get(self, method: str) -> Handler | None:
        if not method.startswith("_"):
            return super().get(method)
        return _Extension(method, self._request, self._note, self._run_call)


class _Extension(Handler):
    """`work` is called for an answer and `now` for none; that is how the two kinds are told apart."""

    __slots__ = ("_method", "_note", "_request", "_run_call")

    def __init__(
        self, method: str, request: Function | None, note: Function | None, run_call: RunCall
    ) -> None:
        self.is_async = True
        self._method = method
        self._request = request
        self._note = note
        self._run_call = run_call

    def work(self, message: object, peer: Any) -> Coroutine[object, None, Any]:
        if self._request is None:
            raise method_not_found(self._method)
        return self._run_call(self._request(self._method[1:], _object(message)), peer)

    def now(self, message: object, peer: Any) -> Any:
        if self._note is None:
            return _nothing()
        return self._run_call(self._note(self._method[1:], _object(message)), peer)


def _object(params: object) -> dict[str, Any]:
    return params if isinstance(params, dict) else {}


async def _nothing() -> None:
    """Does nothing: the object takes no such notification."""
