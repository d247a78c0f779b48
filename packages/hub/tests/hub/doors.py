"""An endpoint behind a real listener in the test's own loop, and peers that speak raw bytes to it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from dragoman.transport.messages import MessageTransport
from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.listener import Tls, open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token

HALF = b"GET /acp HTTP/1.1\r\nhost: "
"""The beginning of a request whose end never comes."""


class Door(Struct):
    """Where the endpoint is, and the token that it knows."""

    port: int
    token: str
    refused: list[str]

    def head(self, line: str, **headers: str) -> bytes:
        given = {"host": f"127.0.0.1:{self.port}", "authorization": f"Bearer {self.token}", **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        return "\r\n".join([f"{line} HTTP/1.1", *lines, "", ""]).encode("latin-1")

    @property
    def ticket(self) -> bytes:
        """A whole request that is admitted and answered with 200."""
        return self.head("POST /ticket", content_length="0")


class Peer:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def status(self) -> int:
        """The status of the next answer, which is read whole; 0 if the connection ends instead."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError):
            return 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                await self.reader.readexactly(int(line.split(b":")[1]))
        return int(head.split(b" ", 2)[1])

    async def closed(self) -> bool:
        """Wait until the other side has closed it."""
        with contextlib.suppress(OSError):
            while await self.reader.read(65536):
                pass
        return True

    @property
    def is_open(self) -> bool:
        return not self.reader.at_eof() and self.reader.exception() is None


@asynccontextmanager
async def door(app: Any = None, *, tls: Tls | None = None, **options: Any) -> AsyncIterator[Door]:
    """A listener; `options` are those of `listener`. Without an app it is an endpoint."""
    bound = open_socket("127.0.0.1", 0, tls=tls, insecure=False)
    port, token = bound.getsockname()[1], new_token()
    refused: list[str] = []

    def accept(transport: MessageTransport, visit: Any) -> None:
        raise AssertionError("nobody opens a connection here")

    app = app or AcpEndpoint(Admission({hash_token(token): Grant("owner")}, hosts=local_hosts(port)), accept)
    async with open_listener(app, bound, tls=tls, on_refused=refused.append, **options):
        yield Door(port, token, refused)


@asynccontextmanager
async def peers(door: Door, count: int, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[list[Peer]]:
    """That many connections, in their order."""
    made: list[Peer] = []
    try:
        for _ in range(count):
            made += [Peer(*await asyncio.open_connection("127.0.0.1", door.port, ssl=tls))]
        yield made
    finally:
        for peer in made:
            peer.writer.transport.abort()
            with contextlib.suppress(OSError):
                await peer.writer.wait_closed()


async def asked(door: Door, request: bytes) -> int:
    """The status of one request on a connection of its own."""
    async with peers(door, 1) as (peer,):
        peer.say(request)
        return await peer.status()
