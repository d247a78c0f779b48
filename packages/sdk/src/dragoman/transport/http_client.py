"""The client's side of Streamable HTTP: posts messages, and receives them on event streams.

The first message must be `initialize`; its answer names the connection. Then the connection's stream is
opened, and before anything is posted about a session, that session's stream. Posts go one after the other,
which is what keeps the order. Cookies are kept for the life of the connection. Needs the package `httpx2`
(`dragoman-sdk[http]`). It speaks HTTP/1.1, also to servers that offer HTTP/2 beside it: each event stream has
a connection of its own there, so that none waits for another.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.errors import LinkClosed, LocalMistake
from dragoman.transport.contract import DEFAULT_LIMITS, TransportLimits
from dragoman.transport.http_routes import RoutedMessage, Routes, outline
from dragoman.transport.inbox import Inbox
from dragoman.transport.messages import MessageBatch, MessageTransport, unreachable
from dragoman.wire import error_object, failure
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.glance import count_notifications
from dragoman.wire.sse import EventReader

if TYPE_CHECKING:
    import httpx2

CONNECTION = "acp-connection-id"
SESSION = "acp-session-id"
VERSION = "acp-protocol-version"
FATAL = frozenset({401, 403, 404, 410})
"""Statuses after which the connection can't be used any more."""

EXCUSE = 8 * 1024
"""The most bytes to read of an unneeded answer, to keep its connection usable."""


def open_http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    limits: TransportLimits = DEFAULT_LIMITS,
    all_or_nothing: bool = False,
) -> MessageTransport:
    """Return a transport to an endpoint; the first message opens it.

    With `all_or_nothing`, the loss of one session's stream ends the connection: whoever comes back with
    another can mend what an error cannot.
    """
    try:
        import httpx2
    except ImportError:
        raise LocalMistake(f"{url!r} needs httpx2: pip install 'dragoman-sdk[http]'") from None
    client = httpx2.AsyncClient(
        headers=dict(headers or {}),
        timeout=httpx2.Timeout(30.0, read=None, pool=None),
        limits=httpx2.Limits(max_connections=None),  # each session holds one as long as it is open
    )
    return MessageTransport(HttpStream(client, url, limits, all_or_nothing=all_or_nothing), limits=limits)


class HttpStream:
    """The connection as a stream of messages."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        url: str,
        limits: TransportLimits,
        *,
        all_or_nothing: bool = False,
    ) -> None:
        self._all_or_nothing = all_or_nothing
        self._client = client
        self._url = url
        self._limits = limits
        self._connection_headers: dict[
            str, str
        ] = {}  # the headers that name the connection, once it has a name
        self._inbox = Inbox(limits.high)
        self._routes = Routes()
        self._readers: dict[str, EventStreamReader] = {}

    async def receive(self) -> bytes | None:
        return await self._inbox.take()

    async def send(self, messages: list[bytes]) -> None:
        for message in messages:
            about = outline(message) or RoutedMessage()
            if self._connection_headers:
                await self._post(message, about)
            else:
                await self._introduce(message)

    async def close(self) -> None:
        tasks = [following.task for following in self._readers.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        try:
            if self._connection_headers:
                with contextlib.suppress(Exception):
                    await self._client.delete(self._url, headers=self._connection_headers)
        finally:
            await self._client.aclose()

    # What is posted.

    async def _introduce(self, message: bytes) -> None:
        import httpx2

        try:
            status, connection, body = await self._exchange(message, {}, self._limits.frame)
        except httpx2.TransportError as error:
            raise unreachable(self._url, error) from None
        if status != 200 or not connection:
            raise LinkClosed(f"{self._url} answered initialize with status {status}")
        self._connection_headers = {CONNECTION: connection}
        about = outline(body)
        version = None if about is None else about.in_result("protocolVersion")
        if type(version) is int:
            self._connection_headers[VERSION] = str(version)
        if (status := await self._open("")) != 200:
            raise LinkClosed(f"{self._url} refused the connection's stream with status {status}")
        self._inbox.put(body)

    async def _post(self, message: bytes, about: RoutedMessage[Any]) -> None:
        session = self._routes.session_of_answer(about) if about.is_answer else about.session
        headers = {SESSION: session} if session else {}
        self._routes.asked_by_client(about)  # first, because a stream is only kept up for what waits for it
        status = await self._open(session) if session else 200
        if status == 200:
            status, _, _ = await self._exchange(message, headers, EXCUSE)
        if status in FATAL or (status >= 300 and not about.is_request):
            raise LinkClosed(f"{self._url} answered with status {status}")
        if status >= 300:
            self._fail(about, f"the server answered with status {status}")

    async def _exchange(self, message: bytes, headers: dict[str, str], limit: int) -> tuple[int, str, bytes]:
        """Status, the connection's id and the body, as far as it is within the limit."""
        headers = {**_JSON, **self._connection_headers, **headers}
        body = bytearray()
        async with self._client.stream("POST", self._url, content=message, headers=headers) as answer:
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > limit:
                    break
        return answer.status_code, answer.headers.get(CONNECTION, ""), bytes(body[:limit])

    def _fail(self, about: RoutedMessage[Any], why: str) -> None:
        """What was asked gets an answer, whoever gives it."""
        if not self._routes.settle(about):
            return
        error = error_object(INTERNAL_ERROR, f"Internal error: {why}")
        self._inbox.put(failure(about.id, error).rstrip(b"\n"))  # type: ignore[arg-type]  # it has an id: it was settled

    # What is streamed.

    async def _open(self, session: str) -> int:
        """A stream that is being read, once its server has accepted it; the status that it was given."""
        following = self._readers.get(session)
        if following is None or following.task.done():
            following = self._begin(session, following.last if following is not None else "")
        return await asyncio.shield(following.status_future)

    def _begin(self, session: str, last: str = "") -> EventStreamReader:
        headers = {**self._connection_headers, **({SESSION: session} if session else {})}
        following = EventStreamReader(
            self._client, self._url, headers, limit=2 * self._limits.frame, last=last
        )
        self._readers[session] = following
        following.start(
            self._hear,
            is_needed=lambda: not session or bool(self._routes.open_in(session)),
            on_loss=lambda why: self._on_stream_end(session, why),
            orderly=not session,
        )
        return following

    def _on_stream_end(self, session: str, why: BaseException | None) -> None:
        """A stream has ended for good. With the connection's own, the connection has."""
        if not session or self._all_or_nothing:
            self._inbox.end(why)
            return
        for request in self._routes.open_in(session):
            self._fail(RoutedMessage(id=request), f"the session's stream broke ({why})")

    async def _hear(self, block: bytes) -> None:
        """Messages enter together, as one batch, unless one of them may have to be refused for its size."""
        if not count_notifications(block):  # which need no route
            for message in block.split(b"\n"):
                self._route(message)
        await self._inbox.wait_for_room()
        if len(block) <= self._limits.frame:
            self._inbox.put(MessageBatch(block))
        else:
            for message in block.split(b"\n"):
                self._inbox.put(message)

    def _route(self, message: bytes) -> None:
        """A question of the agent is remembered, because its answer needs the session's header; a session
        that is new may have something to say at once.
        """
        about = outline(message)
        if about is not None:
            self._routes.stream_of(about)
            session = about.in_result("sessionId")
            if isinstance(session, str) and session not in self._readers:
                self._begin(session)


_JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


# One event stream as a client reads it: opened, followed, and opened again when it breaks too early.
#
# A server that numbers its events is told the last one that arrived, so that none is lost. Knows nothing of
# what the messages say.

Hear: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Accepts messages, one per line; returns when there is room for more."""

PAUSES = (0.0, 0.25, 1.0, 2.0)
"""The seconds before each new attempt without an event in between; after the last, the stream is lost."""


class EventStreamReader:
    """`status_future` gets the HTTP status of the stream; `last` is the id of the last event."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        url: str,
        headers: dict[str, str],
        *,
        limit: int,
        last: str,
    ) -> None:
        self.status_future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.last = last
        self.task: asyncio.Task[None]
        self._client = client
        self._url = url
        self._headers = headers
        self._limit = limit
        self._attempts = 0  # since the last event

    def start(
        self,
        hear: Hear,
        *,
        is_needed: Callable[[], bool],
        on_loss: Callable[[BaseException | None], None],
        orderly: bool,
    ) -> None:
        """Start reading. `orderly`: don't reconnect at its end. `on_loss` is called when the stream is needed
        and can't be opened.
        """
        self.status_future.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.task = asyncio.create_task(self._run(hear, is_needed, on_loss, orderly))

    async def _run(
        self,
        hear: Hear,
        is_needed: Callable[[], bool],
        on_loss: Callable[[BaseException | None], None],
        orderly: bool,
    ) -> None:
        while True:
            broke: BaseException | None = None
            try:
                if not await self._follow(hear):
                    return  # whoever wanted it opened knows
            except Exception as error:  # noqa: BLE001 -- whoever waits for the stream, or reads from it, hears of it
                broke = error
                if not self.status_future.done():
                    self.status_future.set_exception(error)
                    return
            if orderly and broke is None:
                on_loss(None)
                return
            if not is_needed():
                return
            if self._attempts >= len(PAUSES):
                on_loss(broke or LinkClosed("it ended"))
                return
            await asyncio.sleep(PAUSES[self._attempts])
            self._attempts += 1

    async def _follow(self, hear: Hear) -> bool:
        """Until it ends. False if it was refused when it was to be opened for the first time."""
        headers = {"accept": "text/event-stream", **self._headers}
        if self.last:
            headers["last-event-id"] = self.last
        async with self._client.stream("GET", self._url, headers=headers) as answer:
            first = not self.status_future.done()
            if first:
                self.status_future.set_result(answer.status_code)
            if answer.status_code != 200 and first:
                return False
            if answer.status_code != 200:
                raise LinkClosed(f"{self._url} refused a stream with status {answer.status_code}")
            reader = EventReader()
            async for chunk in answer.aiter_bytes():
                if messages := reader.feed_lines(chunk):
                    self._attempts = 0
                    await hear(messages)
                    self.last = reader.last_id or self.last
                if reader.size > self._limit:
                    raise LinkClosed(f"{self._url} sent an event that is larger than any message may be")
        return True
