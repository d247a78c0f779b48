"""An ACP agent as an MCP server over Streamable HTTP: handles admitted requests, as ASGI.

A client is a session that `initialize` opens and `DELETE` ends; each has its own sessions with the agent. A
tool call is answered by a stream of events, everything else by JSON. The agent is started by the first call
and ends when the last client has left. Who may come here at all is decided by the caller, before `handle`.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Hashable, Mapping
from http import HTTPStatus
from typing import Any, Protocol

from dragoman.errors import LinkClosed
from dragoman.transport.http_asgi import Receive, Send, is_free, read_body, respond, stream
from dragoman.transport.http_outlet import Backlog, SseOutlet
from dragoman.wire import Failure, Id, MalformedFrame, Request, decode, error_object, failure
from dragoman.wire.codes import INVALID_REQUEST
from dragoman.wire.envelope import id_key
from dragoman_app.apps.gateway.folders import FolderRules
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.mcp.server import VERSIONS, McpServer

# One MCP client over Streamable HTTP: its server, and the streams that carry what the server says.
#
# Each call has a stream of its own, and what belongs to no call goes over the stream that the client listens
# to. Events are numbered, so that a client whose connection broke comes back for what it missed: a broken
# connection is no cancellation. What waits for readers is bounded in bytes. A client that nobody has heard
# of for a long time is given up.
#
# Specification: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

log = logging.getLogger(__name__)

IDLE_SECONDS = 1800.0
"""The seconds that a client may stay away without a request and without a stream that it reads."""

MOST_TEXT = 400_000
"""The most bytes of the agent's text in a result. The result holds it twice, and official clients accept a
megabyte in one event.
"""

ENDED_STREAMS = 32
"""Streams of ended calls, kept for clients that missed the end."""

LISTENING = "0"
"""The stream for messages without a call."""

PRIMED_SINCE = "2025-11-25"
"""The version from which a stream begins with an empty event: its id is enough to come back."""


class FrameOutlet(Protocol):
    """Accepts the server's messages about one call."""

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
    """One client. Only `owner`, who opened it, may use it. `on_end` is called when its client has left or no
    longer reads.
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
        """Whether no client reads from it or posts to it."""
        return not (self.posting.locked() or any(stream.is_read for stream in self._streams.values()))

    def touch(self) -> None:
        """Note that the client was active just now."""
        self.used = self._loop.time()

    # Calls.

    async def open_call(self, request: Request) -> SseOutlet | None:
        """Begin a call; return its stream. None if a running call has the same id."""
        name, stream = self._open_stream()
        if not self._begin(request, stream, on_end=lambda: self._on_stream_end(name)):
            del self._streams[name]
            return None
        if self.server.version >= PRIMED_SINCE:
            await stream.put(b"")
        return stream

    def ask(self, request: Request) -> WholeAnswer | None:
        """Begin a request that is answered by one message. None if a running request has the same id."""
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
        """Return the stream on which a client saw this event, and the event's number on it; without an event,
        the stream without a call. None if nothing of it is left.
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


PATH = "/mcp"
JSON = b"application/json"
SESSION = b"mcp-session-id"
VERSION_HEADER = b"mcp-protocol-version"

MOST_CLIENTS = 64

MOST_BODY = 16 * 1024 * 1024
FIRST_BODY = 1024 * 1024
"""The most bytes of an opening request, whose sender is still unknown."""

ABANDON_SECONDS = 10.0
"""The seconds without a stream and a request after which a client may be given up for another one."""

_REFUSALS = {
    401: "the token is missing or wrong: send the printed token as `Authorization: Bearer …`",
    403: "pages of this origin are refused. To allow them, use --origin",
    404: f"unknown path: this server has only {PATH}",
    421: "unknown server name: use the printed address, or add the name with --host",
    429: "too many wrong tokens came from this address",
}


class HttpRefusal(Exception):
    """A request that is answered with a status and a JSON-RPC error, for simple clients."""

    def __init__(self, status: int, why: str, *, allow: bytes = b"") -> None:
        super().__init__(why)
        self.status = status
        self.headers = [(b"allow", allow)] if allow else []

    @property
    def body(self) -> bytes:
        return failure(None, error_object(INVALID_REQUEST, f"Invalid request: {self}"))


class McpHttpServer:
    """The server for all clients of a gateway."""

    def __init__(
        self,
        gateway: Gateway,
        folders: FolderRules,
        *,
        most_clients: int = MOST_CLIENTS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._gateway = gateway
        self._folders = folders
        self._most_clients = most_clients
        self._idle_seconds = idle_seconds
        self._sessions: dict[str, McpHttpSession] = {}
        self._endings: set[asyncio.Task[None]] = set()
        self._is_leaving = False

    async def aclose(self) -> None:
        """End all clients' calls and sessions, and refuse new requests."""
        self._is_leaving = True
        for session in list(self._sessions.values()):
            self._end(session)
        if self._endings:
            await asyncio.wait(self._endings)

    async def handle(self, scope: Any, receive: Receive, send: Send, owner: Hashable) -> None:
        """Answer an admitted request."""
        try:
            await self._route(scope, receive, send, owner)
        except HttpRefusal as refusal:
            await respond(send, refusal.status, refusal.body, kind=JSON, headers=refusal.headers)
        except OSError:
            pass  # the client has left

    async def _route(self, scope: Any, receive: Receive, send: Send, owner: Hashable) -> None:
        headers, method = dict(scope["headers"]), scope["method"]
        if scope["path"].rstrip("/") != PATH:
            raise HttpRefusal(404, _REFUSALS[404])
        if method == "POST":
            _check_post(headers)
            if SESSION in headers:
                await self._on_post(self._find_session(headers, owner), headers, receive, send)
            else:
                await self._on_initialize(headers, receive, send, owner)
        elif method == "GET":
            _require_accept(headers, b"text/event-stream")
            await self._on_get(self._find_session(headers, owner), headers, receive, send)
        elif method == "DELETE":
            await self._end(self._find_session(headers, owner))
            await respond(send, 204, b"")
        else:
            raise HttpRefusal(405, "the methods here are GET, POST and DELETE", allow=b"GET, POST, DELETE")

    def _find_session(self, headers: Mapping[bytes, bytes], owner: Hashable) -> McpHttpSession:
        session_id = headers.get(SESSION, b"").decode(errors="replace")
        if not session_id:
            raise HttpRefusal(400, "the header Mcp-Session-Id is missing; initialize comes first")
        session = self._sessions.get(session_id)
        if session is None or session.owner != owner:
            raise HttpRefusal(404, "unknown or ended session; initialize again")
        version = headers.get(VERSION_HEADER, VERSIONS[0].encode()).decode(errors="replace")
        if version not in VERSIONS:
            raise HttpRefusal(400, f"the versions of MCP here are {', '.join(VERSIONS)}")
        session.touch()
        return session

    # Posts.

    async def _on_initialize(
        self, headers: Mapping[bytes, bytes], receive: Receive, send: Send, owner: Hashable
    ) -> None:
        message = await _read_message(headers, receive, FIRST_BODY)
        if not isinstance(message, Request) or message.method != "initialize":
            raise HttpRefusal(400, "the header Mcp-Session-Id is missing; initialize comes first")
        self._make_room()
        session = McpHttpSession(
            self._gateway, self._folders, owner=owner, on_end=self._end, idle_seconds=self._idle_seconds
        )
        self._sessions[session.id] = session
        frame = await _answer(session, message)
        if isinstance(decode(frame), Failure):
            await self._end(session)
            await respond(send, 200, frame, kind=JSON)
        else:
            await respond(send, 200, frame, kind=JSON, headers=[(SESSION, session.id.encode())])

    async def _on_post(
        self, session: McpHttpSession, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        async with session.posting:
            message = await _read_message(headers, receive, MOST_BODY)
        if not isinstance(message, Request):
            session.server.connection.receive(message)
            await respond(send, 202, b"")
        elif message.method == "tools/call":
            events = await session.open_call(message)
            if events is None:
                raise _id_in_use()
            await stream(events, "", receive, send)
            session.touch()
        else:
            await respond(send, 200, await _answer(session, message), kind=JSON)

    def _make_room(self) -> None:
        if self._is_leaving:
            raise HttpRefusal(503, "the server is stopping")
        if len(self._sessions) < self._most_clients:
            return
        latest = asyncio.get_running_loop().time() - ABANDON_SECONDS
        sessions = [entry for entry in self._sessions.values() if entry.is_idle and entry.used <= latest]
        if not sessions:
            raise HttpRefusal(503, f"there are already {self._most_clients} clients; try again later")
        self._end(min(sessions, key=lambda entry: entry.used))

    # Streams.

    async def _on_get(
        self, session: McpHttpSession, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        last_event = headers.get(b"last-event-id", b"").decode(errors="replace")
        match = session.find_stream(last_event)
        if match is None:
            await respond(send, 204, b"")  # what tells a reader of events not to come again
            return
        events, number = match
        if not await is_free(events, number):
            raise HttpRefusal(409, "this stream already has a reader")
        await stream(events, number, receive, send)
        session.touch()

    # Ends.

    def _end(self, session: McpHttpSession) -> asyncio.Task[None]:
        """Forget a session; what it has begun is ended by the task that is returned."""
        self._sessions.pop(session.id, None)
        task = asyncio.get_running_loop().create_task(self._clean_up(session), name="end of an MCP session")
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        return task

    async def _clean_up(self, session: McpHttpSession) -> None:
        await session.aclose()
        if not self._sessions:
            await self._gateway.stop_agent()


def refusal_body(status: int) -> bytes:
    """Return the body for a refused request: it says no more than the status."""
    return HttpRefusal(status, _REFUSALS.get(status, HTTPStatus(status).phrase)).body


def _check_post(headers: Mapping[bytes, bytes]) -> None:
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    coding = headers.get(b"content-encoding", b"identity").strip().lower()
    if kind != JSON or coding != b"identity":
        # A small body that unpacks to a large one is not even begun with.
        raise HttpRefusal(415, "the body must be application/json, as it is")
    _require_accept(headers, JSON, b"text/event-stream")


def _require_accept(headers: Mapping[bytes, bytes], *kinds: bytes) -> None:
    accept = headers.get(b"accept", b"*/*").lower()
    if b"*/*" not in accept and any(kind not in accept for kind in kinds):
        raise HttpRefusal(406, f"the client must accept {b' and '.join(kinds).decode()}")


async def _read_message(headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> Any:
    """One message, of which at least the form is right."""
    body = await read_body(dict(headers), receive, limit)
    if isinstance(body, int):
        raise HttpRefusal(body, {408: "the body did not arrive", 413: "the body is too large"}.get(body, ""))
    message = decode(body)
    if isinstance(message, MalformedFrame):
        raise HttpRefusal(400, f"send one JSON-RPC message at a time: {message.why}")
    if isinstance(message, Request) and message.id is None:
        raise HttpRefusal(400, "a request needs an id that is not null")
    return message


async def _answer(session: McpHttpSession, request: Request) -> bytes:
    answer = session.ask(request)
    if answer is None:
        raise _id_in_use()
    await answer.is_complete.wait()
    if not answer.frame:
        raise HttpRefusal(404, "the request was cancelled, or its session has ended")
    return answer.frame


def _id_in_use() -> HttpRefusal:
    return HttpRefusal(400, "another running request has this id")
