"""Our client of Streamable HTTP against servers whose streams break, that refuse, or that say too much."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman.errors import LinkClosed
from dragoman.transport import http_client
from dragoman.transport.contract import TransportLimits
from dragoman.transport.http_client import open_http
from dragoman.transport.messages import MessageTransport
from tests.transport.asgi_server import served

pytestmark = pytest.mark.bound(20)

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize"}\n'
PROMPT = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}\n'


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "PAUSES", (0.0,) * 4)


class Server:
    """Answers initialize; a session's stream is what `streams` says, one after the other."""

    def __init__(self, *streams: list[bytes] | int, post: int = 202, first: bytes = b"") -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        self._streams = list(streams)
        self._post = post
        self._first = first or b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
        self._over = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append((scope["method"], headers))
        if scope["method"] == "POST" and "acp-connection-id" not in headers:
            named = [(b"acp-connection-id", b"c"), (b"set-cookie", b"node=one")]
            await respond(send, 200, self._first, named)
        elif scope["method"] != "GET":
            await respond(send, self._post, b"")
        elif "acp-session-id" in headers:
            await self._session(send)
        else:
            await respond(send, 200, b":\n\n", more=True)
            await receive()
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _session(self, send: Any) -> None:
        stream = self._streams.pop(0) if self._streams else 404
        if isinstance(stream, int):
            await respond(send, stream, b"")
            return
        await respond(send, 200, b"".join(stream))

    def of(self, method: str) -> list[dict[str, str]]:
        return [headers for one, headers in self.seen if one == method]


async def respond(
    send: Any,
    status: int,
    body: bytes,
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    more: bool = False,
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers or []})
    await send({"type": "http.response.body", "body": body, "more_body": more})


class Heard:
    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.over = asyncio.Event()
        self.reason: BaseException | None = None
        self._news = asyncio.Event()

    def feed(self, block: bytes) -> None:
        self.messages += [json.loads(line) for line in block.splitlines()]
        self._news.set()

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        self.reason = reason
        self.over.set()
        self._news.set()

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self._news.clear()
            await self._news.wait()


@asynccontextmanager
async def talking(server: Server, limits: TransportLimits) -> AsyncIterator[tuple[MessageTransport, Heard]]:
    async with served(server) as port:
        client, heard = open_http(f"http://127.0.0.1:{port}/acp", limits=limits), Heard()
        client.start(heard)
        client.write(INITIALIZE)
        try:
            yield client, heard
        finally:
            await client.aclose()


def event(number: int, **message: Any) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (number, json.dumps({"jsonrpc": "2.0", **message}).encode())


LIMITS = TransportLimits(frame=100_000)


async def test_a_sessions_stream_that_breaks_is_opened_again_where_it_broke() -> None:
    server = Server([event(1, method="session/update")], [event(2, id=1, result={})])
    async with talking(server, LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.until(lambda: len(heard.messages) == 3)
    assert [message.get("id") for message in heard.messages] == [0, None, 1]
    again = [headers.get("last-event-id") for headers in server.of("GET") if "acp-session-id" in headers]
    assert again[:2] == [None, "1"]


async def test_what_was_asked_of_a_stream_that_is_lost_gets_an_answer() -> None:
    server = Server([event(1, method="session/update")], 409, 409, 409, 409)
    async with talking(server, LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.until(lambda: len(heard.messages) == 3)
        assert not heard.over.is_set()
    assert (heard.messages[2]["id"], heard.messages[2]["error"]["code"]) == (1, -32603)


async def test_a_request_that_is_refused_gets_an_answer_and_the_connection_stays() -> None:
    server = Server([event(1, method="session/update")], post=429)
    async with talking(server, LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.until(lambda: any("error" in message for message in heard.messages))
        assert not heard.over.is_set()


async def test_a_connection_that_is_gone_ends_the_transport() -> None:
    server = Server([event(1, method="session/update")], post=404)
    async with talking(server, LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.over.wait()
    assert isinstance(heard.reason, LinkClosed)


async def test_cookies_and_the_version_are_sent_with_everything_that_follows() -> None:
    server = Server([event(1, id=1, result={})])
    async with talking(server, LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.until(lambda: len(heard.messages) == 2)
    first, *later = server.seen
    assert "cookie" not in first[1]
    assert {method for method, _ in later} == {"GET", "POST", "DELETE"}
    assert {headers.get("cookie") for _, headers in later} == {"node=one"}
    assert {headers["acp-protocol-version"] for _, headers in later} == {"1"}


async def test_a_stream_that_is_refused_fails_what_needed_it_and_nothing_else() -> None:
    async with talking(Server(409), LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.until(lambda: len(heard.messages) == 2)
        assert not heard.over.is_set()
    assert (heard.messages[1]["id"], heard.messages[1]["error"]["code"]) == (1, -32603)


async def test_an_event_without_end_is_not_waited_for() -> None:
    endless = [b"data: " + b"x" * 300_000]
    async with talking(Server(*[endless] * 5), LIMITS) as (client, heard):
        client.write(PROMPT)
        await heard.until(lambda: len(heard.messages) == 2)
    assert "larger than any message" in heard.messages[1]["error"]["message"]
