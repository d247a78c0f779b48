"""The host's part in providing a client's files and terminals to a v2 agent.

An edge asks for a server for each session that it opens, says which session it became, and when that is over.
Calls of the server's tools go to the client through the edge, in the name of the session that they belong to.
Nothing is opened before the first question, and everything ends with the transport that it belongs to.

The agent starts a program that carries bytes to a socket of ours (`pipe`); behind the socket is the server
(`server`), whose tools (`tools`) ask the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from msgspec import UNSET

from dragoman.dialect.debts import OwnIds
from dragoman.dialect.message import Message, Object, answer, as_list, as_object, as_text, refusal, request
from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.sdk.interpreter.client_tools.pipe import SOCKET, TOKEN
from dragoman.sdk.interpreter.client_tools.server import ClientToolServer
from dragoman.wire.codes import INTERNAL_ERROR

log = logging.getLogger(__name__)

NAME = "client"
"""The server's name, as the agent sees it."""

Tell = Callable[[int, Message], None]


class _Offer:
    """A session that was, or is to be, lent the client's tools."""

    def __init__(self, position: int, tools: tuple[str, ...]) -> None:
        self.position = position
        self.tools = tools
        self.token = secrets.token_hex(32)
        self.session: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.is_over = False

    def end(self) -> None:
        self.is_over = True
        if not self.session.done():
            self.session.set_exception(_session_over())
            self.session.exception()  # seen: nobody has to wait for it


class ClientTools:
    """Serves a client's tools over MCP. `tell` sends messages to the edge at a position."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._offers: dict[str, _Offer] = {}
        self._listener: TokenListener[_Offer] | None = None
        self._owner: TaskOwner | None = None
        self._opening = asyncio.Lock()
        self._ids = OwnIds("tool")
        self._calls: dict[str, asyncio.Future[Any]] = {}
        self._is_closed = False

    def ask(self, position: int, message: Message) -> None:
        """Handle a request of an edge; the edge's module lists them."""
        params = as_object(message.params)
        if message.is_answer:
            self._on_answer(message)
        elif message.method == "client_tools/offer" and not self._is_closed:
            if self._owner is None:
                self._owner = TaskOwner("client tools")
            self._owner.start(self._offer(position, message, params))
        elif message.method == "client_tools/bind":
            self._bind(as_text(params.get("offer")), as_text(params.get("sessionId")))
        elif message.method == "client_tools/withdraw":
            self._withdraw(as_text(params.get("offer")))

    async def aclose(self) -> None:
        self._is_closed = True
        for offer in self._offers.values():
            offer.end()
        if self._owner is not None:
            await self._owner.aclose()
        if self._listener is not None:
            await self._listener.aclose()

    async def _offer(self, position: int, message: Message, params: Object) -> None:
        try:
            path = await self._listen()
        except OSError as error:
            log.warning("the client's tools cannot be offered: %s", type(error).__name__)
            self._say(position, refusal(message.id, INTERNAL_ERROR, "no socket can be made"))
            return
        tools = tuple(as_text(name) for name in as_list(params.get("tools")))
        offer = self._offers[str(message.id)] = _Offer(position, tools)
        assert self._listener is not None
        self._listener.admit(offer.token, offer)
        self._say(position, answer(message.id, {"server": _entry(path, offer.token)}))

    async def _listen(self) -> str:
        async with self._opening:
            if self._listener is None:
                listener = TokenListener(self._serve)
                try:
                    await listener.open()
                except BaseException:
                    await listener.aclose()
                    raise
                self._listener = listener
        return self._listener.path

    def _bind(self, name: str, session_id: str) -> None:
        offer = self._offers.get(name)
        if offer is not None and not offer.session.done():
            offer.session.set_result(session_id)

    def _withdraw(self, name: str) -> None:
        offer = self._offers.pop(name, None)
        if offer is not None:
            offer.end()
            if self._listener is not None:
                self._listener.refuse(offer.token)

    async def _serve(self, offer: _Offer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def ask(method: str, params: Object) -> Any:
            return await self._of_client(offer, method, params)

        assert self._owner is not None
        server = ClientToolServer(offer.tools, ask, writer.write, self._owner)
        try:
            while line := await reader.readline():
                server.hear(line)
                await writer.drain()
        finally:
            server.close()

    async def _of_client(self, offer: _Offer, method: str, params: Object) -> Any:
        """Ask the client, once the session has its name."""
        if offer.is_over or self._is_closed:
            raise _session_over()
        session_id = await asyncio.shield(offer.session)
        own = self._ids.next()
        waiting = self._calls[own] = asyncio.get_running_loop().create_future()
        self._say(offer.position, request(own, method, {"sessionId": session_id, **params}))
        try:
            return await waiting
        finally:
            self._calls.pop(own, None)

    def _on_answer(self, message: Message) -> None:
        waiting = self._calls.get(str(message.id))
        if waiting is None or waiting.done():
            return
        if message.error is UNSET:
            waiting.set_result(message.result)
            return
        error = as_object(message.error)
        waiting.set_exception(ErrorAnswer(error["code"], error["message"]))

    def _say(self, position: int, message: Message) -> None:
        try:
            self._tell(position, message)
        except LinkClosed:  # the agent left before its answer came
            log.debug("an answer of the client came too late")


def _session_over() -> ErrorAnswer:
    return ErrorAnswer(INTERNAL_ERROR, "the session is over")


def _entry(path: str, token: str) -> Object:
    env = [{"name": SOCKET, "value": path}, {"name": TOKEN, "value": token}]
    return {"name": NAME, "command": sys.executable, "args": ["-m", "dragoman", "client-tools"], "env": env}


# A socket in a private folder, for the programs that an agent starts for us.
#
# Whoever connects says a token first. Tokens are compared in constant time and name what the caller may
# have; who says none in time is not heard. Folder and socket are gone when the listener is.

TOKEN_SECONDS = 10.0
MOST_CALLERS = 64
LINE = 32 * 1024 * 1024
"""The most bytes of a line, which may hold a whole file to write."""

T = TypeVar("T")

Serve = Callable[[T, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class TokenListener(Generic[T]):
    """Accepts connections by token. `serve` gets the token's value and the connection."""

    def __init__(self, serve: Serve[T]) -> None:
        self._serve = serve
        self._tokens: dict[bytes, T] = {}
        self._folder = tempfile.mkdtemp(prefix="dragoman-")  # made with mode 0700
        self.path = os.path.join(self._folder, "client")
        self._owner = TaskOwner("client tools")
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._on_connect, self.path, limit=LINE)

    def admit(self, token: str, what: T) -> None:
        self._tokens[token.encode()] = what

    def refuse(self, token: str) -> None:
        self._tokens.pop(token.encode(), None)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._owner.aclose()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._owner) >= MOST_CALLERS:
            writer.close()
        else:
            self._owner.start(self._hear(reader, writer))

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A caller that breaks off has only ended its own conversation.
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
            try:
                async with asyncio.timeout(TOKEN_SECONDS):
                    line = await reader.readuntil(b"\n")
                what = self._find_token(line.rstrip(b"\n"))
                if what is not None:
                    await self._serve(what, reader, writer)
            finally:
                writer.close()

    def _find_token(self, candidate: bytes) -> T | None:
        """Every token is looked at: how long this takes tells nothing about any of them."""
        match = None
        for token, what in self._tokens.items():
            if hmac.compare_digest(token, candidate):
                match = what
        return match
