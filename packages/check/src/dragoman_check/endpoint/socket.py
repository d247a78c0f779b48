"""A minimal WebSocket client: the upgrade with its headers, whole messages, and the close code."""

from __future__ import annotations

import asyncio
import base64
import os
import struct
from collections.abc import Mapping

from msgspec import Struct

from dragoman_check.endpoint.http import Address, Unreachable, head, read_head

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

LARGEST = 64_000_000
"""The most bytes of a message to read; no endpoint sends more in a test."""


class SocketFrame(Struct, frozen=True):
    """A message, or the end."""

    text: bytes = b""
    code: int | None = None
    """The close code: 1006 without one; None while it is open."""


class Socket:
    """One connection, after `open`."""

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._address, self._headers = address, headers
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> bool:
        """Open the connection; return whether the upgrade was accepted."""
        self._reader, self._writer = await self._address.dial()
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        }
        self._writer.write(head(self._address, "GET", {**self._headers, **upgrade}, None))
        self.status, self.headers = await read_head(self._reader)
        return self.status == 101

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def send(self, text: bytes, *, kind: int = TEXT) -> None:
        assert self._writer is not None, "not open"
        mask = os.urandom(4)
        size = len(text)
        length = (
            bytes([0x80 | size])
            if size < 126
            else struct.pack("!BH", 0x80 | 126, size)
            if size < 65536
            else struct.pack("!BQ", 0x80 | 127, size)
        )
        whole = int.from_bytes(text, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        self._writer.write(bytes([0x80 | kind]) + length + mask + whole.to_bytes(size, "big"))
        try:
            await self._writer.drain()
        except OSError:
            pass  # the next read tells how it ended

    async def receive(self) -> SocketFrame:
        """Return the next message; pings are answered on the way."""
        parts = b""
        try:
            while True:
                is_last, kind, payload = await self._frame()
                if kind == CLOSE:
                    return SocketFrame(
                        code=struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005
                    )
                if kind == PING:
                    await self.send(payload, kind=PONG)
                elif kind != PONG:
                    parts += payload
                    if is_last:
                        return SocketFrame(text=parts)
        except (asyncio.IncompleteReadError, OSError):
            return SocketFrame(code=1006)

    async def _frame(self) -> tuple[bool, int, bytes]:
        assert self._reader is not None, "not open"
        first, second = await self._reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self._reader.readexactly(8))
        if size > LARGEST:
            raise Unreachable("a message that is too large")
        return bool(first & 0x80), first & 0x0F, await self._reader.readexactly(size)
