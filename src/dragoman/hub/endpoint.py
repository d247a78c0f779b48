"""The endpoint: one URL for WebSockets and Streamable HTTP, as an ASGI application without a framework.

Everybody is admitted or refused before anything of theirs is read. Each connection becomes a transport, which
`accept` takes with what its holder may do. `POST /ticket` trades a token for a ticket, for browsers.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from dragoman.hub.admission import Admission, Grant, Refused
from dragoman.transport.contract import DEFAULT_LIMITS, Limits
from dragoman.transport.http_server import HttpConnections, respond
from dragoman.transport.messages import MessageTransport
from dragoman.transport.websocket import AsgiWebSocket

log = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Accept = Callable[[MessageTransport, Grant], None]

POLICY_VIOLATION = 1008


class Endpoint:
    """`path` is where agents are; whoever serves pages puts them around it."""

    def __init__(
        self, admission: Admission, accept: Accept, *, path: str = "/acp", limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._admission = admission
        self._accept = accept
        self._path = path
        self._limits = limits
        self._http = HttpConnections(self._accept_http, limits=limits)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _websocket(self, scope: Any, receive: Receive, send: Send) -> None:
        query = parse_qs(scope.get("query_string", b"").decode(errors="replace"))
        ticket = query.get("ticket", [""])[0]
        admitted = self._admission.admit(dict(scope["headers"]), ticket=ticket)
        await receive()  # the handshake, which must be taken before it is answered
        if isinstance(admitted, Refused) or scope["path"] != self._path:
            _note(scope, admitted)
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        stream = AsgiWebSocket(receive, send)
        await stream.accept(connection_id=uuid.uuid4().hex)
        transport = MessageTransport(stream, limits=self._limits)
        self._accept(transport, admitted)
        await transport.wait_closed()

    async def _request(self, scope: Any, receive: Receive, send: Send) -> None:
        admitted = self._admission.admit(dict(scope["headers"]))
        if isinstance(admitted, Refused):
            _note(scope, admitted)
            headers = [(b"www-authenticate", b"Bearer")] if admitted.status == 401 else []
            await respond(send, admitted.status, b"", headers=headers)
        elif scope["path"] == self._path:
            scope["grant"] = admitted
            await self._http.handle(scope, receive, send)
        elif scope["path"] == "/ticket" and scope["method"] == "POST":
            body = msgspec.json.encode({"ticket": self._admission.ticket(admitted)})
            headers = [(b"cache-control", b"no-store")]
            await respond(send, 200, body, kind=b"application/json", headers=headers)
        else:
            await respond(send, 404, b"")

    def _accept_http(self, transport: MessageTransport, scope: Any) -> None:
        self._accept(transport, scope["grant"])


def _note(scope: Any, refused: Refused | Grant) -> None:
    why = refused.why if isinstance(refused, Refused) else "there is nothing at this path"
    log.warning("refused %s: %s", scope.get("client"), why)
