"""A minimal HTTP client: one request per connection, every status and header kept, event streams read as they
arrive.

A library would repair what an examiner wants to see. Only as much of HTTP/1.1 as that needs: bodies with a
length, in chunks, or up to the end.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from urllib.parse import urlsplit

from msgspec import Struct

from dragoman.errors import DragomanError

LARGEST = 4_000_000
"""The most bytes of a body to read."""


class Unreachable(DragomanError):
    """The address does not answer, or not in HTTP."""


class HttpReply(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Headers by their names in lower case."""
    body: bytes


class Address(Struct, frozen=True):
    """The address of the endpoint."""

    host: str
    port: int
    path: str
    is_secure: bool

    @classmethod
    def of(cls, url: str) -> Address:
        """Parse an address. Raises `ValueError` unless it is http, https, ws or wss."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address of an endpoint: http, https, ws or wss")
        is_secure = parts.scheme in ("https", "wss")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.hostname, parts.port or (443 if is_secure else 80), path, is_secure)

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection(
                self.host, self.port, ssl=ssl.create_default_context() if self.is_secure else None
            )
        except OSError as error:
            raise Unreachable(f"{self.host}:{self.port}: {error}") from error


class HttpExchange:
    """Use `async with Exchange(address, "GET", headers) as reply:`; its body can be read
    whole or as events.
    """

    def __init__(
        self, address: Address, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._address, self._method, self._headers, self._body = address, method, headers, body
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> HttpExchange:
        self._reader, self._writer = await self._address.dial()
        self._writer.write(head(self._address, self._method, self._headers, self._body) + (self._body or b""))
        try:
            self.status, self.headers = await read_head(self._reader)
        except BaseException:
            self._writer.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def whole(self) -> HttpReply:
        body = b""
        async for piece in self.pieces():
            body += piece
            if len(body) > LARGEST:
                break
        return HttpReply(self.status, self.headers, body)

    async def events(self) -> AsyncIterator[bytes]:
        """Yield each event of a stream, without the blank line at its end."""
        buffer = b""
        async for piece in self.pieces():
            buffer += piece.replace(b"\r\n", b"\n")
            while b"\n\n" in buffer:
                event, _, buffer = buffer.partition(b"\n\n")
                yield event

    async def pieces(self) -> AsyncIterator[bytes]:
        assert self._reader is not None, "not entered"
        if self.status in (204, 304) or self._method == "HEAD":
            return
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            async for piece in _chunks(self._reader):
                yield piece
            return
        remaining = int(self.headers["content-length"]) if "content-length" in self.headers else None
        while remaining is None or remaining > 0:
            piece = await self._reader.read(65536 if remaining is None else min(remaining, 65536))
            if not piece:
                return
            remaining = None if remaining is None else remaining - len(piece)
            yield piece


async def ask(
    address: Address, method: str, headers: Mapping[str, str], body: bytes | None = None
) -> HttpReply:
    """Send one request and read its whole answer."""
    async with HttpExchange(address, method, headers, body) as exchange:
        return await exchange.whole()


def head(address: Address, method: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    all_headers = {"Host": f"{address.host}:{address.port}", "Connection": "close", **headers}
    if body is not None:
        all_headers["Content-Length"] = str(len(body))
    lines = [
        f"{method} {address.path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in all_headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        status = int(first.split(" ", 2)[1])
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError, IndexError) as error:
        raise Unreachable(f"no answer in HTTP: {error}") from error
    pairs = (line.partition(":") for line in lines)
    return status, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await reader.readline()
        size = int(line.split(b";")[0].strip() or b"0", 16)
        if size == 0:
            return
        yield await reader.readexactly(size)
        await reader.readexactly(2)
