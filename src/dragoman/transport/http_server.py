"""Streamable HTTP, the server's side: connections made of posts and event streams, each as a transport.

An ASGI application in parts: `HttpConnections.handle` takes one request; every connection that is opened by
an `initialize` is given to `accept` as a transport. What the agent says before somebody reads its stream
waits, bounded in bytes; events are numbered, and a reader that comes back with `Last-Event-ID` gets what it
missed as far as that is still kept. Where official implementations disagree, both ways are taken.

Who may come here at all is for the caller to decide, before `handle`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.errors import LinkClosed
from dragoman.transport.contract import DEFAULT_LIMITS, Limits
from dragoman.transport.http_outlet import Outlet
from dragoman.transport.http_routing import Outline, Routes, outline
from dragoman.transport.messages import MessageTransport
from dragoman.wire import error_object, failure
from dragoman.wire.codes import INVALID_REQUEST
from dragoman.wire.sse import KEEPALIVE

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Accept = Callable[[MessageTransport, Any], None]
"""Takes a new connection and the scope of the request that opened it."""

CONNECTION = b"acp-connection-id"
SESSION = b"acp-session-id"
IDLE = 15.0
"""Seconds after which a silent stream says that it is alive."""

INITIALIZE_WITHIN = 60.0
SESSIONS = 1024
ID_LENGTH = 1024
BODY = 16 * 1024 * 1024


class HttpConnections:
    """All connections of one endpoint."""

    def __init__(self, accept: Accept, *, limits: Limits = DEFAULT_LIMITS, body: int = BODY) -> None:
        self._accept = accept
        self._limits = limits
        self._body = body
        self._connections: dict[str, HttpConnection] = {}

    def __len__(self) -> int:
        return len(self._connections)

    async def handle(self, scope: Any, receive: Receive, send: Send) -> None:
        """One request."""
        headers = dict(scope["headers"])
        method = scope["method"]
        if method == "POST":
            await self._posted(scope, headers, receive, send)
        elif method == "GET":
            await self._followed(headers, receive, send)
        elif method == "DELETE":
            await self._deleted(headers, send)
        else:
            await respond(send, 405, b"", headers=[(b"allow", b"GET, POST, DELETE")])

    def _known(self, headers: dict[bytes, bytes]) -> HttpConnection | int:
        """The connection that a request names, or the status to refuse it with."""
        named = headers.get(CONNECTION, b"").decode(errors="replace")
        if not named:
            return 400
        return self._connections.get(named, 404)

    # Posts.

    async def _posted(self, scope: Any, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json":
            await respond(send, 415, b"the content type must be application/json")
            return
        body = await _body(receive, self._body)
        if body is None:
            await respond(send, 413, b"the message is too large")
            return
        about = outline(body)
        if about is None or (about.is_answer and about.id is _UNSET):
            error = error_object(INVALID_REQUEST, "Invalid request: one JSON-RPC object is taken at a time")
            await respond(send, 400, failure(None, error), kind=b"application/json")
            return
        if about.method == "initialize" and CONNECTION not in headers:
            await self._introduced(scope, body, about, send)
            return
        connection = self._known(headers)
        if isinstance(connection, int):
            await respond(send, connection, b"the connection is not known")
            return
        await respond(send, connection.take(body, about, headers.get(SESSION, b"")), b"")

    async def _introduced(self, scope: Any, body: bytes, about: Outline, send: Send) -> None:
        if about.id is None:
            await respond(send, 400, b"initialize needs an id")
            return
        connection = HttpConnection(self._limits, forget=self._forget)
        self._connections[connection.id] = connection
        self._accept(MessageTransport(connection, limits=self._limits), scope)
        connection.take(body, about, b"")
        try:
            async with asyncio.timeout(INITIALIZE_WITHIN):
                answer = await connection.first
        except (TimeoutError, LinkClosed):
            self._forget(connection)
            await respond(send, 504, b"the agent did not answer")
            return
        headers = [(CONNECTION, connection.id.encode())]
        await respond(send, 200, answer, kind=b"application/json", headers=headers)

    async def _deleted(self, headers: dict[bytes, bytes], send: Send) -> None:
        connection = self._known(headers)
        if isinstance(connection, int):
            await respond(send, connection, b"")
            return
        self._forget(connection)
        await respond(send, 202, b"")

    def _forget(self, connection: HttpConnection) -> None:
        self._connections.pop(connection.id, None)
        connection.end()

    # Streams.

    async def _followed(self, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        accepted = headers.get(b"accept", b"*/*")
        if b"text/event-stream" not in accepted and b"*/*" not in accepted:
            await respond(send, 406, b"an event stream must be accepted")
            return
        connection = self._known(headers)
        if isinstance(connection, int):
            await respond(send, connection, b"")
            return
        outlet = connection.outlet(headers.get(SESSION, b"").decode(errors="replace"))
        last = headers.get(b"last-event-id", b"").decode(errors="replace")
        if outlet is not None and outlet.is_read and last:
            await outlet.evict()
        if outlet is None:
            await respond(send, 404, b"too many sessions")
        elif outlet.is_read:
            await respond(send, 409, b"this stream has a reader")
        else:
            await _stream(outlet, last, receive, send)


class HttpConnection:
    """One connection as a stream of messages."""

    def __init__(self, limits: Limits, *, forget: Callable[[HttpConnection], None]) -> None:
        self.id = uuid.uuid4().hex
        self.first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """The first thing that the agent says: the answer to `initialize`."""
        self._limits = limits
        self._forget = forget
        self._heard: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._outlets: dict[str, Outlet] = {"": Outlet(limits)}
        self._routes = Routes()
        self._over = False

    def outlet(self, session: str) -> Outlet | None:
        """A session may be listened to before anybody has spoken of it."""
        if session not in self._outlets and len(self._outlets) <= SESSIONS and len(session) <= ID_LENGTH:
            self._outlets[session] = Outlet(self._limits)
        return self._outlets.get(session)

    def take(self, body: bytes, about: Outline, session: bytes) -> int:
        """What the client posted; gives the status to answer with."""
        if self._over:
            return 404
        named = session.decode(errors="replace")
        spoken_of = self._routes.session_of_answer(about) if about.is_answer else about.session
        if named and spoken_of and named != spoken_of:
            return 400
        self._routes.asked_by_client(about)
        self._heard.put_nowait(body)
        return 202

    def end(self) -> None:
        """The client is done with it."""
        if not self._over:
            self._over = True
            self._heard.put_nowait(None)
            if not self.first.done():
                self.first.set_exception(LinkClosed("the connection was closed"))
                self.first.exception()
            for outlet in self._outlets.values():
                outlet.end()

    # The stream of messages, for its transport.

    async def receive(self) -> bytes | None:
        return await self._heard.get()

    async def send(self, messages: list[bytes]) -> None:
        for message in messages:
            if self._over:
                raise LinkClosed("the connection was closed")
            if not self.first.done():
                self.first.set_result(message)
            else:
                await self._route(message)

    async def close(self) -> None:
        self._forget(self)

    async def _route(self, message: bytes) -> None:
        about = outline(message)
        session, or_connection = ("", False) if about is None else self._routes.stream_of(about)
        outlet = self.outlet(session) or self._outlets[""]
        if or_connection and not outlet.is_read:
            outlet = self._outlets[""]
        await outlet.put(message)


async def _stream(outlet: Outlet, last: str, receive: Receive, send: Send) -> None:
    """Events to one reader, until it leaves or the connection ends."""
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    left = asyncio.create_task(_gone(receive))
    with outlet.reading(last):
        try:
            while not left.done():
                events = await outlet.take(left, IDLE)
                if events is None:
                    break
                await send({"type": "http.response.body", "body": events or KEEPALIVE, "more_body": True})
                outlet.delivered()
        except OSError:
            pass  # the reader has left
        finally:
            left.cancel()
            await asyncio.wait((left,))
    await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive, limit: int) -> bytes | None:
    """The whole body, None if it is too large."""
    parts = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        parts += event.get("body", b"")
        if len(parts) > limit:
            return None
        if not event.get("more_body"):
            return bytes(parts)


async def respond(
    send: Send,
    status: int,
    body: bytes,
    *,
    kind: bytes = b"text/plain; charset=utf-8",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    """A whole answer."""
    given = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": given})
    await send({"type": "http.response.body", "body": body})


_UNSET = Outline().id
