"""HTTP/2 by uvicorn and zttp, both of which call this experimental: used only when it is asked for.

zttp takes whatever is sent and keeps what the peer has no window for, without a bound. Here a `send` ends
when little of its stream is left there, so that a reader without credit slows its own stream. HTTP/1.1 on the
same port is parsed by httptools.

Used of uvicorn: `ZttpH2Protocol` with `handle_request`, `data_received` and `cycles`, and of a cycle `send`,
`stream`, `disconnected`, `message_event` and `abort_stream`; of zttp: `Stream.pending_bytes`. Written for and
tried with uvicorn 0.54 and zttp 0.0.35. Importing this module raises `ImportError` where a part is missing:
then HTTP/2 is refused, and a reverse proxy is the public way to it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar

import zttp
from uvicorn.protocols.http.zttp_h2_impl import ZttpH2Protocol

from dragoman.hub.api.private_uvicorn import HeadLimitedProtocol
from dragoman.transport.waiters import Waiters

log = logging.getLogger(__name__)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

UNSENT = 64 * 1024
"""Bytes of one stream that may wait for the peer's credit before the sender waits."""

PATIENCE = 60.0
"""Seconds in which a peer must give some credit to a stream that waits for it."""

for _name in ("handle_request", "data_received", "connection_lost"):
    if not hasattr(ZttpH2Protocol, _name):
        raise ImportError(f"uvicorn: ZttpH2Protocol has no {_name}")
if not hasattr(zttp.Stream, "pending_bytes"):
    raise ImportError("zttp: Stream has no pending_bytes")


class ChoosingProtocol(asyncio.Protocol):
    """HTTP/2 or HTTP/1.1: by ALPN over TLS, by the first bytes in clear."""

    alpn_protocols: ClassVar[list[str]] = ["h2", "http/1.1"]

    def __init__(self, **parts: Any) -> None:  # what uvicorn gives to every protocol
        self._parts = parts
        self._connections = parts["server_state"].connections
        self._transport: Any = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        ssl_object = transport.get_extra_info("ssl_object")
        if ssl_object is not None:
            self._choose(
                BoundedHttp2Protocol if ssl_object.selected_alpn_protocol() == "h2" else HeadLimitedProtocol
            )
        else:
            self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) < len(PREFACE) and PREFACE.startswith(self._buffer):
            return
        is_http2 = self._buffer.startswith(PREFACE)
        self._connections.discard(self)
        self._choose(BoundedHttp2Protocol if is_http2 else HeadLimitedProtocol)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)

    def shutdown(self) -> None:
        """Called by the server when it ends."""
        self._transport.close()

    def _choose(self, kind: Any) -> None:
        protocol = kind(**self._parts)
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        if self._buffer:
            protocol.data_received(self._buffer)


class BoundedHttp2Protocol(ZttpH2Protocol):
    """Lets the sender wait for the credit of the peer."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._credit = Waiters()

    def handle_request(self, event: zttp.Request) -> None:
        super().handle_request(event)
        cycle: Any = self.cycles[event.stream_id]
        send = cycle.send

        async def send_and_wait(message: object) -> None:
            await send(message)
            await self._wait_for_credit(cycle)

        cycle.send = send_and_wait

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except (ValueError, RuntimeError, zttp.ProtocolError) as error:  # a path that is not ASCII, say
            log.warning("an HTTP/2 connection was closed: a request is invalid (%s)", type(error).__name__)
            self._close_connection()
        finally:
            self._credit.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._credit.wake()

    async def _wait_for_credit(self, cycle: Any) -> None:
        """Until little of a stream waits. A peer that gives it nothing for a minute loses the stream."""
        pending_bytes = _pending(cycle)
        while pending_bytes > UNSENT and not (cycle.disconnected or self.transport.is_closing()):
            try:
                async with asyncio.timeout(PATIENCE):
                    while _pending(cycle) >= pending_bytes and not (
                        cycle.disconnected or self.transport.is_closing()
                    ):
                        await self._credit.wait()
            except TimeoutError:
                log.warning("a stream was reset: its reader took nothing for %g s", PATIENCE)
                cycle.abort_stream()
                cycle.message_event.set()
                return
            pending_bytes = _pending(cycle)


def _pending(cycle: Any) -> int:
    return cycle.stream.pending_bytes or 0
