"""Streamable HTTP, the client's side: messages are posted, what comes back arrives on event streams.

The first message must be `initialize`; its answer names the connection. Then the connection's stream is
opened, and before anything is posted about a session, that session's stream. Posts go one after the other,
which is what keeps the order. Cookies are kept for the life of the connection. Needs the package `httpx2`
(extra `http`), and speaks HTTP/2 where the server does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dragoman.errors import LinkClosed, LocalMistake
from dragoman.transport.contract import DEFAULT_LIMITS, Limits
from dragoman.transport.http_routing import Outline, Routes, outline
from dragoman.transport.messages import MessageTransport
from dragoman.wire import error_object, failure
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.sse import EventReader

if TYPE_CHECKING:
    import httpx2

CONNECTION = "acp-connection-id"
SESSION = "acp-session-id"
FATAL = frozenset({401, 403, 404, 410})
"""Statuses after which the connection is of no more use."""

QUEUED = 256
"""Messages that may wait to be fed; beyond it the streams are not read."""


def open_http(
    url: str, *, headers: Mapping[str, str] | None = None, limits: Limits = DEFAULT_LIMITS
) -> MessageTransport:
    """A transport to an endpoint; nothing is sent before the first message."""
    try:
        import httpx2
    except ImportError:
        raise LocalMistake(f"{url!r} needs the extra 'http': pip install 'dragoman[http]'") from None
    timeout = httpx2.Timeout(30.0, read=None)
    client = httpx2.AsyncClient(http2=True, headers=dict(headers or {}), timeout=timeout)
    return MessageTransport(HttpStream(client, url, limits), limits=limits)


class HttpStream:
    """The connection as a stream of messages."""

    def __init__(self, client: httpx2.AsyncClient, url: str, limits: Limits) -> None:
        self._client = client
        self._url = url
        self._limits = limits
        self._connection = ""
        self._heard: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(QUEUED)
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._routes = Routes()

    async def receive(self) -> bytes | None:
        found = await self._heard.get()
        if isinstance(found, BaseException):
            raise found
        return found

    async def send(self, messages: list[bytes]) -> None:
        for message in messages:
            about = outline(message) or Outline()
            if self._connection:
                await self._post(message, about)
            else:
                await self._introduce(message)

    async def close(self) -> None:
        tasks = list(self._streams.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._connection:
            with contextlib.suppress(Exception):
                await self._client.delete(self._url, headers={CONNECTION: self._connection})
        await self._client.aclose()

    # What is posted.

    async def _introduce(self, message: bytes) -> None:
        answer = await self._client.post(self._url, content=message, headers=_JSON)
        connection = answer.headers.get(CONNECTION, "")
        if answer.status_code != 200 or not connection:
            raise LinkClosed(f"{self._url} answered initialize with status {answer.status_code}")
        self._connection = connection
        self._routes.asked_by_client(Outline())
        await self._open("")
        await self._heard.put(answer.content)

    async def _post(self, message: bytes, about: Outline) -> None:
        session = self._routes.session_of_answer(about) if about.is_answer else about.session
        headers = {**_JSON, CONNECTION: self._connection}
        if session:
            headers[SESSION] = session
            await self._open(session)
        self._routes.asked_by_client(about)
        answer = await self._client.post(self._url, content=message, headers=headers)
        if answer.status_code in FATAL:
            raise LinkClosed(f"{self._url} answered with status {answer.status_code}")
        if answer.status_code >= 300:
            self._refused(about, answer.status_code)

    def _refused(self, about: Outline, status: int) -> None:
        """What was asked gets an answer, whoever gives it."""
        if not about.is_request:
            raise LinkClosed(f"{self._url} answered with status {status}")
        error = error_object(INTERNAL_ERROR, f"Internal error: the server answered with status {status}")
        self._heard.put_nowait(failure(about.id, error).rstrip(b"\n"))  # type: ignore[arg-type]

    # What is streamed.

    async def _open(self, session: str) -> None:
        """A stream that is being read, once its server has accepted it."""
        running = self._streams.get(session)
        if running is not None and not running.done():
            return
        await self._begin(session)

    def _begin(self, session: str) -> asyncio.Future[None]:
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._streams[session] = asyncio.create_task(self._read(session, opened))
        return opened

    async def _read(self, session: str, opened: asyncio.Future[None]) -> None:
        headers = {"accept": "text/event-stream", CONNECTION: self._connection}
        if session:
            headers[SESSION] = session
        try:
            async with self._client.stream("GET", self._url, headers=headers) as answer:
                if answer.status_code != 200:
                    raise LinkClosed(f"{self._url} refused a stream with status {answer.status_code}")
                opened.set_result(None)
                await self._follow(answer)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 -- whoever waits for the stream, or reads from us, hears of it
            if not opened.done():
                opened.set_exception(error)
            elif not session:
                await self._heard.put(error)
            return
        if not session:  # the connection's own stream has ended: so has the connection
            await self._heard.put(None)

    async def _follow(self, answer: Any) -> None:
        reader = EventReader()
        async for chunk in answer.aiter_bytes():
            for event in reader.feed(chunk):
                self._learn(event.data)
                await self._heard.put(event.data)
            if reader.size > 2 * self._limits.frame:
                raise LinkClosed(f"{self._url} sent an event that is larger than any message may be")

    def _learn(self, message: bytes) -> None:
        """A question of the agent is remembered, because its answer needs the session's header; a session
        that is new may have something to say at once.
        """
        about = outline(message)
        if about is None:
            return
        if about.is_request:
            self._routes.stream_of(about)
        session = about.result.get("sessionId") if isinstance(about.result, dict) else None
        if isinstance(session, str) and session not in self._streams:
            self._begin(session).add_done_callback(lambda opened: opened.cancelled() or opened.exception())


_JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
