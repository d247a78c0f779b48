"""One MCP client over Streamable HTTP: its server, and the streams that carry what the server says.

Each call has a stream of its own, and what belongs to no call goes over the stream that the client listens
to. Events are numbered, so that a client whose connection broke comes back for what it missed: a broken
connection is not a cancellation. What waits for readers is bounded in bytes. A client that nobody has heard
of for a long time is given up.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Hashable
from typing import Protocol

from dragoman.errors import LinkClosed
from dragoman.transport.http_outlet import Backlog, SseOutlet
from dragoman.wire import Id, Request
from dragoman.wire.envelope import id_key
from dragoman_app.apps.gateway.folders import FolderRules
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.mcp.server import McpServer

log = logging.getLogger(__name__)

IDLE_SECONDS = 1800.0
"""How long a client may stay away without a request and without a stream that it reads."""

MOST_TEXT = 400_000
"""Bytes of the agent's words in a result. They stand there twice, and official clients take a megabyte as
one event.
"""

ENDED_STREAMS = 32
"""Streams of calls that have ended, kept for clients that missed the end."""

LISTENING = "0"
"""The stream for what belongs to no call."""

PRIMED_SINCE = "2025-11-25"
"""From this version on a stream begins with an empty event: its id is enough to come back."""


class FrameOutlet(Protocol):
    """Takes what the server says about one call."""

    async def put(self, message: bytes, /) -> None: ...

    def end(self) -> None: ...


class WholeAnswer:
    """The answer to a request of one message. It stays empty if the request ends without an answer."""

    def __init__(self) -> None:
        self.frame = b""
        self.is_complete = asyncio.Event()

    async def put(self, message: bytes, /) -> None:
        self.frame = message

    def end(self) -> None:
        self.is_complete.set()


class McpHttpSession:
    """`owner` is whoever opened it: nobody else may use it. `on_end` is told when nobody comes any more, or
    nothing is read any more.
    """

    def __init__(
        self,
        gateway: Gateway,
        folders: FolderRules,
        *,
        owner: Hashable,
        on_end: Callable[[McpHttpSession], object],
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.id = uuid.uuid4().hex
        self.owner = owner
        self.server = McpServer(gateway, folders, self._write, most_text=MOST_TEXT)
        self.posting = asyncio.Lock()
        """Held while a body is read: one at a time, so that no more than one waits in memory."""
        self._on_end = on_end
        self._idle_seconds = idle_seconds
        self._backlog = Backlog()
        self._streams: dict[str, SseOutlet] = {}
        self._stream_count = 0
        self._ended: list[str] = []
        self._listening = self._open_stream()[1]
        self._calls: dict[object, FrameOutlet] = {}
        self._loop = asyncio.get_running_loop()
        self.used = self._loop.time()
        """When somebody came last."""
        self._timer = self._loop.call_later(idle_seconds, self._look)

    @property
    def is_idle(self) -> bool:
        """Nobody reads from it or posts to it."""
        return not (self.posting.locked() or any(stream.is_read for stream in self._streams.values()))

    def touch(self) -> None:
        """Somebody has come; they may come again."""
        self.used = self._loop.time()

    # Calls.

    async def open_call(self, request: Request) -> SseOutlet | None:
        """Begin a call; its stream. None if its id is that of a call which runs."""
        name, stream = self._open_stream()
        if not self._begin(request, stream, on_end=lambda: self._on_stream_end(name)):
            del self._streams[name]
            return None
        if self.server.version >= PRIMED_SINCE:
            await stream.put(b"")
        return stream

    def ask(self, request: Request) -> WholeAnswer | None:
        """Begin a request that is answered by one message. None if its id is that of one which runs."""
        answer = WholeAnswer()
        return answer if self._begin(request, answer, on_end=lambda: None) else None

    def _begin(self, request: Request, outlet: FrameOutlet, *, on_end: Callable[[], None]) -> bool:
        key = id_key(request.id)
        if key in self._calls:
            return False
        self._calls[key] = outlet

        def on_done(_: object) -> None:
            del self._calls[key]
            outlet.end()
            on_end()

        task = self.server.connection.receive(request)
        assert task is not None, "a request is always answered"
        task.add_done_callback(on_done)
        return True

    async def _write(self, frame: bytes, related_to: Id) -> None:
        key = id_key(related_to) if related_to is not None else None
        try:
            await self._calls.get(key, self._listening).put(frame)
        except LinkClosed as error:
            log.warning("MCP client %s was dropped: %s", self.id[:8], error)
            self._on_end(self)
            raise

    # Streams.

    def find_stream(self, last_event: str) -> tuple[SseOutlet, str] | None:
        """The stream on which a client saw this event, and the event's number on it; without an event, the
        stream that belongs to no call. None if nothing is left of it.
        """
        name, _, number = last_event.partition("-") if last_event else (LISTENING, "", "")
        stream = self._streams.get(name)
        if stream is None or not stream.has_more(number):
            return None
        return stream, number

    def _open_stream(self) -> tuple[str, SseOutlet]:
        name = str(self._stream_count)
        self._stream_count += 1
        stream = self._streams[name] = SseOutlet(self._backlog, name=f"{name}-")
        return name, stream

    def _on_stream_end(self, name: str) -> None:
        self._ended.append(name)
        # One that is read this moment is needed, however old it is; there are no more of these than calls.
        unread = [stream for stream in self._ended if not self._streams[stream].is_read]
        if len(unread) > ENDED_STREAMS:
            self._ended.remove(unread[0])
            self._streams.pop(unread[0]).discard()

    def _look(self) -> None:
        """Is anybody still there?"""
        if not self.is_idle:
            self.touch()
        seconds_left = self.used + self._idle_seconds - self._loop.time()
        if seconds_left <= 0:
            log.info("MCP client %s was dropped: no request for %g s", self.id[:8], self._idle_seconds)
            self._on_end(self)
        else:
            self._timer = self._loop.call_later(seconds_left, self._look)

    async def aclose(self) -> None:
        """End its calls, its streams and its sessions with the agent."""
        self._timer.cancel()
        self._backlog.end()
        try:
            await self.server.aclose()
        finally:
            for stream in self._streams.values():
                stream.end()
