"""The ASGI server of a listener, and the application that informs a connection about its requests.

`HubServer` is uvicorn's, but for signals, which belong to whoever runs it. How connections are accepted is
uvicorn's way here; `private_uvicorn` has another.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from dragoman_hub.api.acceptor import STATE, AcceptedConnection

ADMIT = "dragoman.admit"
"""A function in the scope of a request, which the code that admits the request calls."""


class AnnouncedRequests:
    """Wraps the application, and informs each connection about its requests."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        connection: AcceptedConnection | None = scope.get("state", {}).pop(STATE, None)
        if connection is None:  # uvicorn has accepted it
            await self._app(scope, receive, send)
            return
        scope[ADMIT] = connection.admit
        with connection.request():
            await self._app(scope, receive, send)


def admit(scope: Any) -> None:
    """Note that this request had a valid token: its connection is not closed in favour of others."""
    on_admitted = scope.get(ADMIT)
    if on_admitted is not None:
        on_admitted()


TICK_SECONDS = 1.0
"""The seconds between two updates of the date in answers."""


class HubServer(uvicorn.Server):
    """Reports when it is ready, and ends on request. Uvicorn's own server checks ten times a second whether
    to end: nearly all the work of an idle hub.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()
        self._stop_event = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stop_event.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._stop_event.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.accept(sockets or [])
        self.is_up.set()

    async def accept(self, sockets: list[socket.socket]) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
