"""A client of HTTP/2 in clear that gives as much credit as a test wants."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h2.config
import h2.connection
import h2.events
import h2.settings


class Http2Client:
    """One connection. Nothing is acknowledged but by `credit`: windows stay as they were opened."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, window: int) -> None:
        self._reader, self._writer = reader, writer
        self._conn = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._conn.initiate_connection()
        self._conn.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        self._flush()
        self.data: dict[int, int] = {}
        self.ended: set[int] = set()
        self.pings = 0

    def _flush(self) -> None:
        self._writer.write(self._conn.data_to_send())

    def ask(self, path: str, port: int, **headers: str) -> int:
        """Send a request without a body; returns its stream."""
        stream = self._conn.get_next_available_stream_id()
        head = [(":method", "GET"), (":path", path), (":scheme", "http"), (":authority", f"127.0.0.1:{port}")]
        self._conn.send_headers(stream, [*head, *headers.items()], end_stream=True)
        self._flush()
        return stream

    def credit(self, size: int, stream: int | None = None) -> None:
        self._conn.increment_flow_control_window(size, stream)
        self._flush()

    def leave(self) -> None:
        """Drop the connection."""
        self._writer.transport.abort()

    def reset(self, stream: int) -> None:
        self._conn.reset_stream(stream)
        self._flush()

    async def round_trip(self) -> None:
        """Until the server has heard everything that was sent before."""
        before = self.pings
        self._conn.ping(b"01234567")
        self._flush()
        while self.pings == before:
            await self.read()

    async def read(self) -> bool:
        """Take what comes; False at the end."""
        data = await self._reader.read(65536)
        for event in self._conn.receive_data(data) if data else ():
            if isinstance(event, h2.events.DataReceived):
                self.data[event.stream_id] = self.data.get(event.stream_id, 0) + len(event.data)
            elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                self.ended.add(event.stream_id)
            elif isinstance(event, h2.events.PingAckReceived):
                self.pings += 1
        self._flush()
        return bool(data)

    async def wait_ended(self, stream: int) -> None:
        while stream not in self.ended:
            assert await self.read()


@asynccontextmanager
async def http2_client(port: int, *, window: int = 65535) -> AsyncIterator[Http2Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = Http2Client(reader, writer, window=window)
    try:
        yield client
    finally:
        client.leave()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
