"""One connection of Streamable HTTP on the server's side, as a stream of messages.

Posts wait while the agent is behind, the agent waits while readers are behind, and a connection that nobody
reads from or posts to is forgotten after a while. Knows nothing of requests and statuses but which status a
post deserves.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dragoman.errors import LinkClosed
from dragoman.transport.contract import TransportLimits
from dragoman.transport.http_outlet import PATIENCE, UNREAD, Backlog, SseOutlet
from dragoman.transport.http_routes import OPEN_QUESTIONS, RoutedMessage, Routes, outline
from dragoman.transport.inbox import Inbox

log = logging.getLogger(__name__)

SESSIONS = 1024
"""The most streams of sessions that may have messages and no reader."""


class Bounds(Struct, frozen=True, kw_only=True):
    """The limits of one connection in time and size."""

    unread: int = UNREAD
    """The most bytes that may wait for its readers."""

    patience: float = PATIENCE
    """The seconds without a byte read, at this limit, after which the connection is given up."""

    idle: float = 300.0
    """The seconds without a reader and a post after which the connection is forgotten."""

    first: float = 30.0
    """The seconds until the first message of a WebSocket."""


class HttpConnection:
    """One connection of Streamable HTTP. Only its `owner` may use it."""

    def __init__(
        self,
        limits: TransportLimits,
        bounds: Bounds,
        *,
        owner: object,
        forget: Callable[[HttpConnection], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.id = uuid.uuid4().hex
        self.owner = owner
        self.first: asyncio.Future[bytes] = loop.create_future()
        """The answer to `initialize`."""
        self.posting = asyncio.Lock()
        """Held while a body is read: one at a time, so that no more than one waits in memory."""
        self._bounds = bounds
        self._forget = forget
        self._inbox = Inbox(limits.high)
        self._backlog = Backlog(unread=bounds.unread, patience=bounds.patience)
        self._outlets: dict[str, SseOutlet] = {"": SseOutlet(self._backlog)}
        self._routes = Routes()
        self._over = False
        self.used = loop.time()
        """When somebody came last."""
        self.was_used = False
        """Whether anybody came for it after its `initialize`."""
        self._timer = loop.call_later(bounds.idle, self._look)

    def touch(self) -> None:
        """Note that the client was active just now."""
        self.used = asyncio.get_running_loop().time()

    @property
    def is_idle(self) -> bool:
        """Whether no client reads or posts, and its `initialize` is answered."""
        is_busy = self.posting.locked() or not self.first.done()
        return not (is_busy or any(outlet.is_read for outlet in self._outlets.values()))

    def outlet(self, session: str) -> SseOutlet | None:
        """Return the stream of a session, which a client may read before the first message in it. None if
        there are too many.
        """
        if session not in self._outlets:
            if len(self._outlets) > SESSIONS:
                self._make_room()
            if len(self._outlets) > SESSIONS:
                return None
            self._outlets[session] = SseOutlet(self._backlog)
        return self._outlets[session]

    async def wait_for_room(self) -> None:
        """Wait until the agent has read enough of the posted messages."""
        await self._inbox.wait_for_room()

    def take(self, body: bytes, about: RoutedMessage[Any], session: str) -> int:
        """Accept posted messages; return the HTTP status for the answer."""
        self.touch()
        if self._over:
            return 404
        if about.is_answer:
            spoken_of = self._routes.session_of_answer(about, forget=False)
        else:
            spoken_of = about.session
            if spoken_of and not session and about.needs_header:
                return 400
        if session and spoken_of and session != spoken_of:
            return 400
        if about.is_request and self._routes.open_questions >= OPEN_QUESTIONS:
            return 429
        if about.is_answer:
            self._routes.session_of_answer(about)
        self._routes.asked_by_client(about)
        self._inbox.put(body)
        return 202

    def end(self) -> None:
        """End the connection, for any reason."""
        if not self._over:
            self._over = True
            self._timer.cancel()
            self._inbox.end()
            self._backlog.end()
            if not self.first.done():
                self.first.set_exception(LinkClosed("the connection was closed"))
                self.first.exception()
            for outlet in self._outlets.values():
                outlet.end()

    # The stream of messages, for its transport.

    async def receive(self) -> bytes | None:
        return await self._inbox.take()

    async def send(self, messages: list[bytes]) -> None:
        for message in messages:
            if self._over:
                raise LinkClosed("the connection was closed")
            about = outline(message)
            if not self.first.done() and about is not None and about.is_answer:
                self.first.set_result(message)
                self._routes.stream_of(about)
                continue
            try:
                await self._outlet_of(about).put(message)
            except LinkClosed as error:
                log.warning("connection %s is given up: %s", self.id[:8], error)
                raise

    async def close(self) -> None:
        self._forget(self)

    def _outlet_of(self, about: RoutedMessage[Any] | None) -> SseOutlet:
        session, or_connection = ("", False) if about is None else self._routes.stream_of(about)
        outlet = self.outlet(session) or self._outlets[""]
        unheard = not outlet.was_read and outlet.is_empty and about is not None and about.is_failure
        # Nobody may ever come for that stream.
        return self._outlets[""] if (or_connection and not outlet.is_read) or unheard else outlet

    def _make_room(self) -> None:
        """Forget the session that has been silent for longest."""
        for session, outlet in self._outlets.items():
            if session and outlet.is_empty and not outlet.is_read:
                del self._outlets[session]
                return

    def _look(self) -> None:
        """Is anybody still there?"""
        loop = asyncio.get_running_loop()
        if not self.is_idle:
            self.used = loop.time()
        seconds_left = self.used + self._bounds.idle - loop.time()
        if seconds_left <= 0:
            log.info("connection %s was dropped: no request for %g s", self.id[:8], self._bounds.idle)
            self._forget(self)
        else:
            self._timer = loop.call_later(seconds_left, self._look)
