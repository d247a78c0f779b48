"""All uses of undocumented parts of uvicorn, for HTTP/1.1 and WebSockets.

- `GuardedServer` accepts connections itself, with deadlines and bounds. It uses `Server.servers`, `.lifespan`
  and `.server_state`, `Config.http_protocol_class` and the parameters of protocols. The public way is
  `Server.serve(sockets=…)`, without a deadline for request heads.
- `HeadLimitedProtocol` bounds a request head. It uses `HttpToolsProtocol`, its `url` and `headers`, and the
  callbacks of its parser.
  The public way is `http="h11"`, which has a bound and is slower.
- `ManyProtocol` takes many messages in one event, and bounds the fragments of a message. It uses
  `data_received`, `handle_connect`, `handle_cont`, `handle_ping`, `handle_parser_exception`, `send`, `conn`,
  `frames`, `writable`, `disconnected`, `close_sent` and `handshake_complete` of `WebSocketsSansIOProtocol`.
  The public way is `ws="websockets-sansio"`, an event for each message.

Written for and tried with uvicorn 0.54. Importing this module raises `ImportError` where a part is missing:
then `listening` takes the public way and logs it.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dragoman_hub.api.acceptor import STATE, AcceptedConnection, Acceptor
from dragoman_hub.api.server import HubServer
from dragoman_hub.gate.connection_limits import ConnectionLimits

HEAD_BYTES = 64 * 1024
"""The most bytes of a request head."""

HEADERS = 128
"""The most header lines of a request."""

FRAGMENTS = 1024
FRAGMENT_BYTES = 256
"""A message may have this many fragments, and one more for this many bytes: a fragment costs more than a
byte.
"""

PARSED_BYTES = 16 * 1024
"""The most bytes to parse at once; as many empty fragments take a hundredth of a second."""

HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)

PROTOCOL_PARAMETERS = frozenset({"config", "server_state", "app_state", "_loop"})


def check_parts() -> None:
    """Raise `ImportError` if uvicorn has changed in a way that only a connection would reveal."""
    for protocol in (HttpToolsProtocol, WebSocketsSansIOProtocol):
        missing = PROTOCOL_PARAMETERS - inspect.signature(protocol).parameters.keys()
        if missing:
            raise ImportError(
                f"uvicorn {uvicorn.__version__}: {protocol.__name__} takes no {sorted(missing)}"
            )
    parts: list[tuple[type, tuple[str, ...]]] = [
        (uvicorn.Server, ("startup", "shutdown", "capture_signals")),
        (HttpToolsProtocol, ("on_message_begin", "on_headers_complete", "data_received")),
        (
            WebSocketsSansIOProtocol,
            ("handle_connect", "handle_cont", "handle_ping", "handle_parser_exception", "send"),
        ),
    ]
    for owner, names in parts:
        absent = [name for name in names if not hasattr(owner, name)]
        if absent:
            raise ImportError(f"uvicorn {uvicorn.__version__}: {owner.__name__} has no {absent}")


check_parts()


class GuardedServer(HubServer):
    """Accepts with an `Acceptor`; a request finds its connection in the state of its scope."""

    def __init__(
        self, config: uvicorn.Config, *, limits: ConnectionLimits, on_refused: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._limits = limits
        self._on_refused = on_refused

    async def accept(self, sockets: list[socket.socket]) -> None:
        await self.lifespan.startup()
        acceptors: list[Any] = [  # they close as asyncio's servers do, which is all that is asked of them
            Acceptor(
                server_socket,
                self._make_protocol,
                tls=self.config.ssl,
                limits=self._limits,
                on_refused=self._on_refused,
            )
            for server_socket in sockets
        ]
        self.servers = acceptors
        self.started = True

    def _make_protocol(self, connection: AcceptedConnection) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class  # its parameters are not part of its type
        state = {**self.lifespan.state, STATE: connection}
        protocol: asyncio.Protocol = make(
            config=self.config,
            server_state=self.server_state,
            app_state=state,
            _loop=asyncio.get_running_loop(),
        )
        return protocol


class HeadLimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 by httptools, which by itself collects a request head of any size."""

    _head_bytes: int | None = None
    """Bytes that were read since the head began; None while none is being read. What came in the same read as
    the beginning of the head is not counted: it may belong to the body before.
    """

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= HEADERS or len(value) > HEAD_BYTES:
            raise ValueError("too many headers, or a header that is too large")  # the parser answers with 400
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_bytes = None
        if not self.url.startswith(b"/"):
            self._take_host_of_target()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        was_open = self._head_bytes is not None
        super().data_received(data)
        if was_open and self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(HEAD_TOO_LARGE)
                self.transport.close()

    def _take_host_of_target(self) -> None:
        """A target that names a host counts instead of the header (RFC 9112, 3.2.2)."""
        _, _, rest = self.url.partition(b"://")
        host = rest.partition(b"/")[0]
        self.headers[:] = [(name, host if name == b"host" else value) for name, value in self.headers]


class ManyProtocol(WebSocketsSansIOProtocol):
    """A WebSocket protocol that sends many messages in one event, see `many`."""

    _fragment_bytes = 0
    """Of the message that has not ended yet."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Break the reference cycle of parser and connection, so that half a message is freed at once. The
        parser also has its last frame.
        """
        super().connection_lost(exc)
        self.frames = []
        self.conn.reader.discard()
        self.conn.parser.close()

    def data_received(self, data: bytes) -> None:
        """Parse a piece after the frames of the piece before have been counted."""
        for at in range(0, len(data), PARSED_BYTES):
            if not self.transport.is_closing():
                super().data_received(data[at : at + PARSED_BYTES])

    def handle_cont(self, event: Any) -> None:
        if self.close_sent:
            return
        self._fragment_bytes += len(event.data)
        if len(self.frames) >= FRAGMENTS + self._fragment_bytes // FRAGMENT_BYTES:
            self.frames = []
            self.conn.fail(1008, "a message in too many fragments")
            self.handle_parser_exception()
            return
        if event.fin:
            self._fragment_bytes = 0
        super().handle_cont(event)

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # who does not read hears no pong either: they would gather without end

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        scope: Any = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][EXTENSION] = {"now": self.send_now}

    def send_now(self, messages: Sequence[bytes]) -> bool:
        """Send without waiting and without an event, if there is room; otherwise do nothing."""
        if not self.writable.is_set() or self.disconnected or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(encode_frames(messages))
        return True

    async def send(self, message: Any) -> None:
        many = message.get("many")
        if many is None:
            await super().send(message)
            if message["type"] == "websocket.accept":
                self._forget_handshake()
            elif message["type"] == "websocket.http.response.body" and self.close_sent:
                self.handshake_complete = True  # it was refused; uvicorn logs an error for it otherwise
            return
        await self.writable.wait()
        if self.disconnected:
            raise ClientDisconnected
        if self.close_sent or self.transport.is_closing():
            raise RuntimeError("the connection is being closed")
        self.transport.write(encode_frames(many))

    def _forget_handshake(self) -> None:
        """Nobody asks for its headers any more, and a connection that is idle for days is to cost little."""
        protocol: Any = self
        protocol.request.headers.clear()  # the parser of `websockets` holds the request as long as it runs
        protocol.request = protocol.response = None
        protocol.scope["headers"] = []


# Sends many WebSocket messages in one event: the ASGI extension `dragoman.many`, and messages as wire bytes.
#
# An update a message is what the protocol says, and an event a message costs ten times what the message
# does. So there is an extension of ASGI, `dragoman.many`, announced in the scope: `{"type":
# "websocket.send", "many": [b"…", …]}` sends each as a text message of its own, all with one write. Its
# `now` does that at once, if there is room for them: a turn of the event loop is a good part of what a
# single update waits for. A server's messages are not masked and we do not compress, so that a message is a
# short head and its bytes.

EXTENSION = "dragoman.many"

_TEXT = 0x81
_KNOWN = 4096
"""Sizes whose heads are kept: nearly all messages are smaller."""


class _Heads(dict[int, bytes]):
    """The bytes before a message, by its size."""

    def __missing__(self, size: int) -> bytes:
        if size < 126:
            head = bytes((_TEXT, size))
        elif size < 65536:
            head = bytes((_TEXT, 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((_TEXT, 127)) + size.to_bytes(8, "big")
        if size < _KNOWN:
            self[size] = head
        return head


_heads = _Heads()


def encode_frames(messages: Sequence[bytes]) -> bytes:
    """Return the messages as WebSocket frames."""
    parts: list[bytes] = [b""] * (2 * len(messages))
    parts[::2] = map(_heads.__getitem__, map(len, messages))
    parts[1::2] = messages
    return b"".join(parts)
