"""WebSocket and HTTP by hand: clients that can do what no library would."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import struct
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

import httpx2

from dragoman.wire.sse import EventReader
from tests.hub.faults.stage import Stage

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
DROPPED = 0
"""Stands for the code of a connection that was dropped without one."""


def request(number: int | str | None, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


INITIALIZE = request(0, "initialize", protocolVersion=1)
NEW = request(1, "session/new", cwd="/tmp", mcpServers=[])


def prompt(number: int | str, session: str, text: str) -> dict[str, Any]:
    return request(number, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


def text_of(update: dict[str, Any]) -> str:
    text: str = update["params"]["update"].get("content", {}).get("text", "")
    return text


async def raw(stage: Stage, *parts: bytes) -> tuple[int, bytes]:
    """Status and everything else of what comes back for these bytes; 0 if nothing does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await answer(reader)
    except OSError:  # closed while we were still sending, as may be
        return 0, b""
    finally:
        await drop(writer)


async def drop(writer: asyncio.StreamWriter) -> None:
    """Leave without a word: whoever waits for a server that does not read would wait for ever."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a broken network does: with a reset, whatever is under way."""
    await writer.drain()
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
    await drop(writer)


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """A status and the headers behind it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        return 0, b""
    return int(head.split(b" ", 2)[1]), head


def head(method: str, stage: Stage, **headers: str | None) -> bytes:
    """The beginning of a request; a header that is None is left out."""
    given = {**stage.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
    return "\r\n".join([f"{method} /acp HTTP/1.1", *lines, "", ""]).encode()


UPGRADE: dict[str, str | None] = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": base64.b64encode(bytes(16)).decode(),
}


class Socket:
    """A WebSocket, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.pongs: list[bytes] = []

    async def frame(self, opcode: int, payload: bytes, *, fin: bool = True, reserved: int = 0) -> None:
        size = len(payload)
        first = (0x80 if fin else 0) | reserved | opcode
        if size < 126:
            begin = struct.pack("!BB", first, 0x80 | size)
        elif size < 65536:
            begin = struct.pack("!BBH", first, 0x80 | 126, size)
        else:
            begin = struct.pack("!BBQ", first, 0x80 | 127, size)
        self.writer.write(begin + bytes(4) + payload)  # a mask of zeros leaves everything as it is
        await self.writer.drain()

    async def say(self, message: Any) -> None:
        await self.frame(TEXT, message if isinstance(message, bytes) else json.dumps(message).encode())

    async def read(self) -> tuple[int, bytes]:
        first, second = await self.reader.readexactly(2)
        size = second & 127
        if size >= 126:
            width = 2 if size == 126 else 8
            size = int.from_bytes(await self.reader.readexactly(width), "big")
        return first & 15, await self.reader.readexactly(size)

    async def hear(self) -> Any:
        """The next message."""
        while True:
            opcode, payload = await self.read()
            if opcode == TEXT:
                return json.loads(payload)
            if opcode == PING:
                await self.frame(PONG, payload)
            elif opcode == PONG:
                self.pongs.append(payload)
            assert opcode != CLOSE, payload

    async def call(self, message: dict[str, Any]) -> Any:
        """The answer to a request; what comes before it is passed over."""
        await self.say(message)
        while (heard := await self.hear()).get("id") != message["id"] or "method" in heard:
            pass
        return heard

    async def closed(self) -> int:
        """The code with which it is closed."""
        try:
            while True:
                opcode, payload = await self.read()
                if opcode == CLOSE:
                    return int.from_bytes(payload[:2], "big")
        except (asyncio.IncompleteReadError, OSError):
            return DROPPED


@asynccontextmanager
async def socket(stage: Stage, *, initialized: bool = True, **headers: str) -> AsyncIterator[Socket]:
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
    try:
        given: dict[str, Any] = {**UPGRADE, **headers}
        writer.write(head("GET", stage, **given))
        status, answered = await answer(reader)
        assert status == 101, answered
        assert b"acp-connection-id: " in answered.lower()
        one = Socket(reader, writer)
        if initialized:
            assert (await one.call(INITIALIZE))["result"]["protocolVersion"] == 1
        yield one
    finally:
        await drop(writer)


async def handshake(stage: Stage, *, method: str = "GET", **headers: str | None) -> int:
    """The status of a handshake."""
    given = {**UPGRADE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return (await raw(stage, head(method, stage, **given)))[0]


async def survives(stage: Stage) -> None:
    """Somebody else is served."""
    async with socket(stage) as one:
        assert "result" in await one.call(NEW)


class Events:
    """The messages of an event stream, until it ends. No generator: one that is left half-way is ended by
    a task of its own, at some time.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._events = EventReader()
        self._heard: deque[Any] = deque()

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Any:
        while not self._heard:
            size = int((await self._reader.readline()).strip() or b"0", 16)
            if not size:
                raise StopAsyncIteration
            chunk = (await self._reader.readexactly(size + 2))[:-2]
            self._heard.extend(json.loads(event.data) for event in self._events.feed(chunk))
        return self._heard.popleft()


class Connection:
    """Streamable HTTP, request by request."""

    def __init__(self, http: httpx2.AsyncClient, stage: Stage) -> None:
        self.http, self.stage, self.url = http, stage, stage.url
        self.named: dict[str, str] = {}

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {"content-type": "application/json", **self.named, **_dashed(headers)}
        return await self.http.post(self.url, content=content, headers=given)

    async def get(self, **headers: str) -> httpx2.Response:
        return await self.http.get(self.url, headers=_dashed(headers))

    @asynccontextmanager
    async def events(self, session: str = "", **headers: str) -> AsyncIterator[Events]:
        """The messages of a stream."""
        given = {"accept": "text/event-stream", **self.named, **_dashed(headers)}
        if session:
            given["acp-session-id"] = session
        reader, writer = await asyncio.open_connection("127.0.0.1", self.stage.port)
        try:
            writer.write(head("GET", self.stage, **given))
            assert (await answer(reader))[0] == 200
            yield Events(reader)
        finally:
            await drop(writer)

    async def new_session(self) -> str:
        async with self.events() as events:
            assert (await self.post(NEW)).status_code == 202
            found: str = (await anext(events))["result"]["sessionId"]
            return found


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def connection(stage: Stage, *, initialized: bool = True) -> AsyncIterator[Connection]:
    headers = {"authorization": stage.headers["authorization"]}
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(
        timeout=None, headers=headers, limits=limits, verify=False, trust_env=False
    ) as http:
        one = Connection(http, stage)
        if initialized:
            first = await one.post(INITIALIZE)
            assert first.status_code == 200
            one.named = {"acp-connection-id": first.headers["acp-connection-id"]}
        yield one
        if one.named:
            await http.delete(stage.url, headers=one.named)


def noise(size: int) -> bytes:
    return os.urandom(size)
