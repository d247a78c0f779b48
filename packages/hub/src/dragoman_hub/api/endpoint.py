"""The endpoint: one URL for WebSockets and Streamable HTTP, as an ASGI application without a framework.

Everybody is admitted or refused before anything of theirs is read. Each connection becomes a transport, which
`accept` takes with what its holder may do. `POST /ticket` trades a token for a ticket, for browsers.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from dragoman.transport.contract import TransportLimits
from dragoman.transport.handshake import Handshake
from dragoman.transport.http_server import CONNECTION, Bounds, HttpConnections, respond
from dragoman.transport.messages import MessageTransport
from dragoman.transport.websocket_server import AsgiWebSocket
from dragoman_hub.api.cors import allowances, is_preflight, share_with_page
from dragoman_hub.api.listener import NETWORK
from dragoman_hub.api.request_admission import admit_request, log_refusal
from dragoman_hub.gate.admission import Admission, AdmissionRefusal, Grant

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Visit(Struct, frozen=True):
    """A new connection: the query of its address, and its first message."""

    grant: Grant
    query: dict[str, str] = {}
    first: bytes = b""


Accept = Callable[[MessageTransport, Visit], None]

TICKET = "/ticket"

MANY = "dragoman.many"
"""An extension of our listener: many messages in one event."""

PROTOCOL = frozenset({"v1", "v2", "auto"})
"""Dialects whose clients begin with `initialize`."""

AGENT_ENDED = (1011, "the agent has ended")
GOING_AWAY = (1001, "the server is going away")

SILENT = 64
"""The most open WebSockets with a valid token before their first message."""

NOTHING_THERE = AdmissionRefusal(404, "there is nothing at this path")


class AcpEndpoint:
    """The ASGI endpoint for agents, at `path`; pages are served around it."""

    def __init__(
        self,
        admission: Admission,
        accept: Accept,
        *,
        path: str = "/acp",
        limits: TransportLimits = NETWORK,
        bounds: Bounds | None = None,
        on_refused: Callable[[int], None] | None = None,
        once: bool = True,
        find_room: Callable[[Grant, bool], AdmissionRefusal | None] = lambda grant, is_socket: None,
    ) -> None:
        """`on_refused` receives the status of each refused connection. `once` refuses a second `initialize`
        on a WebSocket here; otherwise the accepting code decides. `find_room` is called before a connection
        begins, and gets whether it is a WebSocket.
        """
        self._find_room = find_room
        self._admission = admission
        self._accept = accept
        self._path = path
        self._limits = limits
        self._bounds = bounds or Bounds()
        self._once = once
        self.http = HttpConnections(self._accept_http, limits=limits, body=limits.frame, bounds=self._bounds)
        self._on_refused = on_refused or (lambda status: None)
        self._sockets: set[AsgiWebSocket] = set()
        self._silent: dict[AsgiWebSocket, None] = {}  # those whose first message has not come, oldest first

    def leave(self) -> None:
        """Note that connections are about to close because the hub ends, not because of their agents."""
        for stream in self._sockets:
            stream.farewell = GOING_AWAY

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    def _admit(self, scope: Any, *, ticket: str = "") -> Grant | AdmissionRefusal:
        verdict = admit_request(self._admission, scope, ticket=ticket)
        if isinstance(verdict, Grant) and scope["path"] not in (self._path, TICKET):
            return NOTHING_THERE
        return verdict

    async def _websocket(self, scope: Any, receive: Receive, send: Send) -> None:
        query = _query(scope)
        verdict = self._admit(scope, ticket=query.get("ticket", ""))
        await receive()  # the handshake, which must be taken before it is answered
        if isinstance(verdict, AdmissionRefusal) or scope["path"] != self._path:
            refusal = verdict if isinstance(verdict, AdmissionRefusal) else NOTHING_THERE
            self._on_refused(refusal.status)
            await _turn_away(scope, refusal, send)
            return
        if (lack := self._find_room(verdict, True)) is not None:
            await _turn_away(scope, lack, send)
            return
        # Whoever names a dialect need not begin as the protocol does.
        handshake = Handshake(once=self._once) if query.get("dialect", "v1") in PROTOCOL else None
        many = (scope.get("extensions") or {}).get(MANY)
        stream = AsgiWebSocket(
            receive,
            send,
            handshake=handshake,
            patience=self._bounds.patience,
            batched_send=many is not None,
            now=(many or {}).get("now"),
            has_lines=query.get("lines") == "1",
        )
        await stream.accept(connection_id=uuid.uuid4().hex)
        self._sockets.add(stream)
        try:
            # No agent is started for somebody who says nothing.
            if await self._begin(stream):
                stream.farewell = AGENT_ENDED
                transport = MessageTransport(stream, limits=self._limits)
                self._accept(transport, Visit(verdict, query, stream.first))
                await transport.wait_closed()
        finally:
            self._sockets.discard(stream)

    async def _begin(self, stream: AsgiWebSocket) -> bool:
        """Whether the first message has come. Of too many that say nothing, the oldest is closed."""
        if len(self._silent) >= SILENT:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.end_beginning()
        self._silent[stream] = None
        try:
            return await stream.begin(within=self._bounds.first)
        finally:
            self._silent.pop(stream, None)

    async def _request(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if self._admission.check_address(headers) is None:
            if is_preflight(scope, headers):
                await respond(send, 204, b"", headers=allowances(headers))
                return
            send = share_with_page(send, headers)  # a page that may come learns why it was refused, too
        verdict = self._admit(scope)
        if isinstance(verdict, AdmissionRefusal):
            self._on_refused(verdict.status)
            log_refusal(scope, verdict)
            await respond(send, verdict.status, b"", headers=verdict.headers)
            return
        if scope["path"] == self._path:
            begins = scope["method"] == "POST" and CONNECTION not in headers
            if begins and (lack := self._find_room(verdict, False)) is not None:
                log_refusal(scope, lack)
                await respond(send, lack.status, lack.reason.encode(), headers=lack.headers)
                return
            scope["grant"] = verdict
            await self.http.handle(scope, receive, send)
        elif scope["method"] == "POST":
            body = msgspec.json.encode({"ticket": self._admission.ticket(verdict)})
            unkept = [(b"cache-control", b"no-store")]
            await respond(send, 200, body, kind=b"application/json", headers=unkept)
        else:
            await respond(send, 405, b"", headers=[(b"allow", b"POST")])

    def _accept_http(self, transport: MessageTransport, scope: Any) -> None:
        self._accept(transport, Visit(scope["grant"], _query(scope), scope["first"]))


def _query(scope: Any) -> dict[str, str]:
    query = parse_qs(scope.get("query_string", b"").decode(errors="replace"))
    return {name: values[0] for name, values in query.items()}


async def _turn_away(scope: Any, refusal: AdmissionRefusal, send: Send) -> None:
    """Say no to a handshake, with its status where the server can."""
    log_refusal(scope, refusal)
    if "websocket.http.response" in (scope.get("extensions") or {}):
        start = {"type": "websocket.http.response.start", "status": refusal.status}
        await send({**start, "headers": refusal.headers})
        await send({"type": "websocket.http.response.body", "body": refusal.reason.encode()})
    else:
        await send({"type": "websocket.close"})
