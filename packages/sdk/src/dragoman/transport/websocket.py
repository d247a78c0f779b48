"""WebSockets as transports: one text message is one frame, all sessions on one connection.

This is the client's side, over the package `websockets` (`dragoman-sdk[ws]`); `websocket_server` is the
other. Binary messages are ignored, as the official server does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dragoman.errors import LocalMistake
from dragoman.transport.contract import DEFAULT_LIMITS, TransportLimits
from dragoman.transport.messages import MessageBatch, MessageTransport

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

KEEPALIVE = 20.0
"""The seconds between pings, and until a peer without an answer counts as gone."""


def websocket(
    url: str, *, headers: Mapping[str, str] | None = None, limits: TransportLimits = DEFAULT_LIMITS
) -> MessageTransport:
    """Return a transport that connects when it is used; its reader gets the error of a failed connection."""
    return MessageTransport(_ClientStream(url, headers, limits, KEEPALIVE), limits=limits)


async def open_websocket(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    limits: TransportLimits = DEFAULT_LIMITS,
    keepalive: float = KEEPALIVE,
) -> MessageTransport:
    """Return a connected transport. Raises `LinkClosed` with the server's answer if it refuses."""
    stream = _ClientStream(url, headers, limits, keepalive)
    await stream.ensure_connection()  # before anybody uses it, so that it is closed even if nobody does
    return MessageTransport(stream, limits=limits)


def hard_limit(limits: TransportLimits) -> int:
    """Return the size at which a message ends its connection; a message between the two limits is skipped and
    reported.
    """
    return 2 * limits.frame


class _ClientStream:
    def __init__(
        self, url: str, headers: Mapping[str, str] | None, limits: TransportLimits, keepalive: float
    ) -> None:
        self._url = url
        self._headers = dict(headers or {})
        self._limits = limits
        self._keepalive = keepalive
        self._connection: ClientConnection | None = None
        self._by_run = False  # whether it gives many messages at once
        self._orderly: type[Exception] | tuple[()] = ()
        self._connecting = asyncio.Lock()  # who receives and who sends come at the same time

    async def ensure_connection(self) -> ClientConnection:
        async with self._connecting:
            if self._connection is None:
                self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> ClientConnection:
        try:
            from dragoman.transport import websocket_runs
        except ImportError:
            raise LocalMistake(f"{self._url!r} needs websockets: pip install 'dragoman-sdk[ws]'") from None
        connection = await websocket_runs.open_connection(
            self._url,
            headers=self._headers,
            max_size=hard_limit(self._limits),
            keepalive=self._keepalive,
            by_run=self._limits.frame >= websocket_runs.SMALL,
        )
        self._orderly = websocket_runs.ConnectionClosedOK
        self._by_run = isinstance(connection, websocket_runs.RunConnection)
        return connection

    async def receive(self) -> bytes | None:
        connection = await self.ensure_connection() if self._connection is None else self._connection
        try:
            while True:
                message = await connection.recv(decode=None)
                if isinstance(message, str):
                    return message.encode()
                if self._by_run:
                    return MessageBatch(message)
        except self._orderly:
            return None

    async def send(self, messages: list[bytes]) -> None:
        connection = await self.ensure_connection()
        for message in messages:
            await connection.send(message, text=True)

    async def close(self) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            await connection.close()
        except asyncio.CancelledError:  # it took too long: let go without a goodbye, and leave nothing behind
            connection.transport.abort()
            await connection.wait_closed()
            raise
