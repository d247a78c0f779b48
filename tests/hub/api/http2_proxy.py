"""A reverse proxy as small as can be: HTTP/2 over TLS on one side, HTTP/1.1 in clear on the other.

It holds nothing back: a piece of a body that comes from one side goes to the other before the next is read,
and an answer waits for the credit of its reader.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h11

HOP = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"})
"""Headers that are between two neighbours only."""


class _Client:
    """One connection of HTTP/2, and the requests on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self._reader, self._writer, self._port = reader, writer, port
        self._conn = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding=None)
        )
        self._bodies: dict[int, asyncio.Queue[bytes | None]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._credit = asyncio.Condition()

    async def serve(self) -> None:
        self._conn.initiate_connection()
        try:
            self._flush()
            while data := await self._reader.read(65536):
                for event in self._conn.receive_data(data):
                    self._handle(event)
                self._flush()
                async with self._credit:
                    self._credit.notify_all()
        except OSError:
            pass  # the client has left
        finally:
            for task in self._tasks.values():
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks.values())
            self._writer.close()

    def _flush(self) -> None:
        self._writer.write(self._conn.data_to_send())

    def _handle(self, event: Any) -> None:
        if isinstance(event, h2.events.RequestReceived):
            stream = event.stream_id
            self._bodies[stream] = asyncio.Queue()
            work = self._forward(stream, dict(event.headers), list(event.headers))
            self._tasks[stream] = asyncio.create_task(work)
        elif isinstance(event, h2.events.DataReceived):
            self._bodies[event.stream_id].put_nowait(event.data)
            self._conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._bodies[event.stream_id].put_nowait(None)
        elif isinstance(event, h2.events.StreamReset) and event.stream_id in self._tasks:
            self._tasks[event.stream_id].cancel()

    async def _forward(self, stream: int, named: dict[bytes, bytes], headers: list[Any]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            server = h11.Connection(h11.CLIENT)
            given = [(name, value) for name, value in headers if not name.startswith(b":")]
            has_body = named[b":method"] == b"POST" and b"content-length" not in named
            chunked = [(b"transfer-encoding", b"chunked")] if has_body else []
            request = h11.Request(
                method=named[b":method"],
                target=named[b":path"],
                headers=[(b"host", named[b":authority"]), *given, *chunked],
            )
            writer.write(server.send(request) or b"")
            while (piece := await self._bodies[stream].get()) is not None:
                writer.write(server.send(h11.Data(data=piece)) or b"")
                await writer.drain()
            writer.write(server.send(h11.EndOfMessage()) or b"")
            await self._answer(stream, server, reader)
        except (OSError, h2.exceptions.StreamClosedError, h2.exceptions.ProtocolError):
            pass  # one of them has left
        finally:
            writer.transport.abort()

    async def _answer(self, stream: int, server: h11.Connection, reader: asyncio.StreamReader) -> None:
        while True:
            event = server.next_event()
            if event is h11.NEED_DATA:
                server.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Response):
                kept = [(name, value) for name, value in event.headers if name not in HOP]
                self._conn.send_headers(stream, [(b":status", b"%d" % event.status_code), *kept])
                self._flush()
            elif isinstance(event, h11.Data):
                await self._send(stream, bytes(event.data))
            else:
                self._conn.end_stream(stream)
                self._flush()
                return

    async def _send(self, stream: int, data: bytes) -> None:
        while data:
            async with self._credit:
                await self._credit.wait_for(lambda: self._conn.local_flow_control_window(stream) > 0)
            size = min(self._conn.local_flow_control_window(stream), self._conn.max_outbound_frame_size)
            self._conn.send_data(stream, data[:size])
            data = data[size:]
            self._flush()
            await self._writer.drain()


@asynccontextmanager
async def http2_proxy(port: int, certificate: str, key: str) -> AsyncIterator[int]:
    """The port of a proxy in front of that port."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.set_alpn_protocols(["h2"])
    clients: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        task.add_done_callback(clients.discard)
        with contextlib.suppress(asyncio.CancelledError):
            await _Client(reader, writer, port).serve()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in clients:
            task.cancel()
        if clients:
            await asyncio.wait(clients)
