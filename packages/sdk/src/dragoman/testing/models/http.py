"""A minimal HTTP/1.1 server for scripted models, with all faults that a script can request.

A `ModelConnection` takes one request after another and sends what it is told: a head, a body in chunks, half
of a chunk, or nothing. It notices when the client leaves while it is being answered. TLS, compression and
pipelining are not known here; this server is for one's own machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

LINE_LIMIT = 1 << 16
"""The most bytes of a request's head; no client of a model sends more."""

BODY_LIMIT = 1 << 27
"""The most bytes of a request's body. Pictures are large, but a test that sends more has another problem."""


class Incoming(NamedTuple):
    """A received request; the names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class BadRequest(Exception):
    """The received bytes are not a supported HTTP request."""


class ModelConnection:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._early = b""
        self._is_chunked = False
        self.lasting = True
        """Whether another request may follow."""

    async def receive(self) -> Incoming | None:
        """Return the next request, or None at the end of the connection. Raises `BadRequest`."""
        try:
            head = self._early + await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise BadRequest("the head of the request is too long") from None
        self._early = b""
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        words = first.split(" ")
        if len(words) != 3:
            raise BadRequest("the first line is not a request")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.lasting = words[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        if headers.get("expect", "").lower() == "100-continue":
            await self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Incoming(words[0], words[1].partition("?")[0], headers, await self._body(headers))

    async def head(self, status: int, headers: Mapping[str, str], *, length: int | None = None) -> None:
        """Begin an answer. Without a length, its body is sent in chunks."""
        self._is_chunked = length is None
        framing = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", framing, f"connection: {self._connection()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self._write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def send(self, data: bytes, *, split: int | None = None) -> None:
        """Send a part of the body, at once or in pieces of this many bytes."""
        size = split or len(data) or 1
        for at in range(0, len(data), size):
            part = data[at : at + size]
            await self._write(b"%x\r\n%b\r\n" % (len(part), part) if self._is_chunked else part)

    async def finish(self) -> None:
        if self._is_chunked:
            await self._write(b"0\r\n\r\n")

    async def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a whole answer."""
        await self.head(status, headers, length=len(body))
        await self.send(body)

    async def wait_closed(self) -> None:
        """Wait until the client has left; a request that arrives in the meantime is kept for `receive`."""
        while not self._early and (early := await self._reader.read(1)):
            self._early = early
        if self._early:
            await asyncio.get_running_loop().create_future()

    def close(self) -> None:
        """Close the connection after all written bytes were sent."""
        self._writer.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    def _connection(self) -> str:
        return "keep-alive" if self.lasting else "close"

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            raise BadRequest("the length of the request makes no sense or is too large")
        return await self._reader.readexactly(int(length))

    async def _chunks(self) -> bytes:
        parts, total = [], 0
        while True:
            line = (await self._reader.readuntil(b"\r\n")).partition(b";")[0].strip()
            try:
                size = int(line, 16)
            except ValueError:
                raise BadRequest("a chunk has no size") from None
            total += size
            if size < 0 or total > BODY_LIMIT:
                raise BadRequest("the request is too large")
            parts.append((await self._reader.readexactly(size + 2))[:-2])
            if not size:
                return b"".join(parts)

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 529 is not a status of the standard
        return "Scripted"
