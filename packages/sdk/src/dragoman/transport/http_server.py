"""The server's side of Streamable HTTP: turns the posts and event streams of each connection into a
transport.

An ASGI application in parts: `HttpConnections.handle` takes one request; every connection that is opened by
an `initialize` is given to `accept` as a transport. What the agent says before somebody reads its stream
waits, bounded in bytes; events are numbered, and a reader that comes back with `Last-Event-ID` gets what it
missed as far as that is still kept. Where official implementations disagree, both ways are taken.

Who may come here at all is for the caller to decide, before `handle`. What the caller puts into the scope as
`grant` owns the connections that it opens: to everybody else they are not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from dragoman.errors import LinkClosed
from dragoman.transport.contract import DEFAULT_LIMITS, TransportLimits
from dragoman.transport.handshake import refuse_long_id
from dragoman.transport.http_asgi import (
    Receive,
    Send,
    is_free,
    read_body,
    respond,
    stream,
    wait_for_disconnect,
)
from dragoman.transport.http_connection import Bounds, HttpConnection
from dragoman.transport.http_routes import ID_LENGTH, RoutedMessage, outline
from dragoman.transport.messages import MessageTransport
from dragoman.wire import error_object, failure
from dragoman.wire.codes import INVALID_REQUEST

__all__ = ["Accept", "Bounds", "HttpConnections", "respond"]

Accept = Callable[[MessageTransport, Any], None]
"""Handles a new connection with the scope of its opening request, whose body is `first`."""

CONNECTION = b"acp-connection-id"
SESSION = b"acp-session-id"

INITIALIZE_WITHIN = 60.0
BODY = 16 * 1024 * 1024
FIRST_BODY = 1024 * 1024
"""The most bytes of an opening request, whose sender is still unknown."""

ABANDONED = 10.0
"""The seconds without a reader and a post after which a connection may be forgotten when
there are too many.
"""

REASONS = {400: b"the request makes no sense", 408: b"the message did not arrive", 413: b"it is too large"}


class HttpConnections:
    """All connections of one endpoint."""

    def __init__(
        self,
        accept: Accept,
        *,
        limits: TransportLimits = DEFAULT_LIMITS,
        body: int = BODY,
        bounds: Bounds | None = None,
    ) -> None:
        self._accept = accept
        self._limits = limits
        self._body = body
        self._bounds = bounds or Bounds()
        self._connections: dict[str, HttpConnection] = {}

    def reclaim(self) -> bool:
        """Forget an abandoned connection to make room for another; return whether there was one."""
        abandoned = self.find_abandoned()
        if abandoned is not None:
            self._forget(abandoned)
        return abandoned is not None

    def find_abandoned(self) -> HttpConnection | None:
        """Return the connection that has been abandoned for longest. Connections unused after their
        `initialize` come first, at any age. A connection that was used a moment ago, or has a reader, is not
        abandoned.
        """
        latest = asyncio.get_running_loop().time() - ABANDONED
        idle_connections = [
            connection
            for connection in self._connections.values()
            if connection.is_idle and (connection.used <= latest or not connection.was_used)
        ]
        return min(idle_connections, key=lambda one: (one.was_used, one.used), default=None)

    async def handle(self, scope: Any, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = dict(scope["headers"])
        method = scope["method"]
        if method == "POST":
            await self._on_post(scope, headers, receive, send)
        elif method == "GET":
            await self._on_get(scope, headers, receive, send)
        elif method == "DELETE":
            await self._on_delete(scope, headers, send)
        else:
            await respond(send, 405, b"", headers=[(b"allow", b"GET, POST, DELETE")])

    def _find_connection(self, scope: Any, headers: dict[bytes, bytes]) -> HttpConnection | int:
        """The connection that a request names, or the status to refuse it with."""
        connection_id = headers.get(CONNECTION, b"").decode(errors="replace")
        if not connection_id:
            return 400
        connection = self._connections.get(connection_id)
        if connection is None or connection.owner != scope.get("grant"):
            return 404
        connection.touch()
        connection.was_used = True
        return connection

    # Posts.

    async def _on_post(self, scope: Any, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        coding = headers.get(b"content-encoding", b"identity").strip().lower()
        if kind != b"application/json" or coding != b"identity":
            # A small body that unpacks to a large one is not even begun with.
            await respond(send, 415, b"it must be application/json, as it is")
            return
        if CONNECTION not in headers:
            await self._on_initialize(scope, headers, receive, send)
            return
        connection = self._find_connection(scope, headers)
        if isinstance(connection, int):
            await respond(send, connection, b"the connection is not known")
            return
        async with connection.posting:
            await connection.wait_for_room()
            read = await _read(headers, receive, send, self._body)
            if read is None:
                return
            body, about = read
            session = headers.get(SESSION, b"").decode(errors="replace")
            again = about.method == "initialize"
            status = 400 if again or len(session) > ID_LENGTH else connection.take(body, about, session)
        await respond(send, status, REASONS.get(status, b""))

    async def _on_initialize(
        self, scope: Any, headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        read = await _read(headers, receive, send, FIRST_BODY)
        if read is None:
            return
        body, about = read
        if about.method != "initialize" or not about.is_request or about.id is None:
            await respond(send, 400, b"a connection is opened by initialize, with an id")
            return
        connection = HttpConnection(self._limits, self._bounds, owner=scope.get("grant"), forget=self._forget)
        self._connections[connection.id] = connection
        scope["first"] = body
        self._accept(MessageTransport(connection, limits=self._limits), scope)
        connection.take(body, about, "")
        answer = await _first_answer(connection, receive)
        if answer is None:
            self._forget(connection)
            await respond(send, 504, b"the agent did not answer")
            return
        if _is_refusal(answer):
            self._forget(connection)
            await respond(send, 503, answer, kind=b"application/json")
            return
        id_header = [(CONNECTION, connection.id.encode())]
        await respond(send, 200, answer, kind=b"application/json", headers=id_header)

    async def _on_delete(self, scope: Any, headers: dict[bytes, bytes], send: Send) -> None:
        connection = self._find_connection(scope, headers)
        if isinstance(connection, int):
            await respond(send, connection, b"")
            return
        self._forget(connection)
        await respond(send, 202, b"")

    def _forget(self, connection: HttpConnection) -> None:
        self._connections.pop(connection.id, None)
        connection.end()

    # Streams.

    async def _on_get(self, scope: Any, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        accept = headers.get(b"accept", b"").lower()
        if b"text/event-stream" not in accept and b"*/*" not in accept:
            await respond(send, 406, b"an event stream must be accepted")
            return
        connection = self._find_connection(scope, headers)
        session = headers.get(SESSION, b"").decode(errors="replace")
        if not isinstance(connection, int) and len(session) > ID_LENGTH:
            connection = 400
        if isinstance(connection, int):
            await respond(send, connection, b"")
            return
        outlet = connection.outlet(session)
        last = headers.get(b"last-event-id", b"").decode(errors="replace")
        if outlet is None:
            await respond(send, 429, b"too many sessions")
        elif await is_free(outlet, last):
            await stream(outlet, last, receive, send)
            connection.touch()
        else:
            await respond(send, 409, b"this stream already has a reader")


async def _read(
    headers: dict[bytes, bytes], receive: Receive, send: Send, limit: int
) -> tuple[bytes, RoutedMessage[Any]] | None:
    """One message and what it is about; None if it was refused."""
    body = await read_body(headers, receive, limit)
    if isinstance(body, int):
        # To close now would lose the answer with the connection: the rest is read, and thrown away.
        late = [(b"connection", b"close")] if body == 408 else []
        await respond(send, body, REASONS[body], headers=late)
        return None
    about = outline(body)
    if about is None or not (about.is_request or about.is_notification or about.is_reply):
        error = error_object(INVALID_REQUEST, "Invalid request: one JSON-RPC object is taken at a time")
        await respond(send, 400, failure(None, error), kind=b"application/json")
        return None
    if about.is_too_long:
        await respond(send, 400, refuse_long_id(about), kind=b"application/json")
        return None
    return body, about


async def _first_answer(connection: HttpConnection, receive: Receive) -> bytes | None:
    """What the agent answers to `initialize`; None if it does not, or if nobody waits for it any more."""
    disconnect = asyncio.create_task(wait_for_disconnect(receive))
    try:
        futures: set[asyncio.Future[Any]] = {connection.first, disconnect}
        await asyncio.wait(futures, timeout=INITIALIZE_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        return connection.first.result() if connection.first.done() else None
    except LinkClosed:
        return None
    finally:
        disconnect.cancel()
        await asyncio.wait((disconnect,))


def _is_refusal(answer: bytes) -> bool:
    """An error that answers nothing: there is nobody behind it who could be asked anything else."""
    about = outline(answer)
    return about is not None and about.is_failure and about.id is None
