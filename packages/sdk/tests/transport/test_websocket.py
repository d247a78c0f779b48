"""WebSockets, between our client and our server over a real socket, held to the contract of transports."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.utils import accept_key

from dragoman.errors import LinkClosed, LocalMistake
from dragoman.testing import check_transport
from dragoman.testing.pace import deadline
from dragoman.transport.contract import Transport, TransportLimits
from dragoman.transport.messages import MessageTransport
from dragoman.transport.websocket import hard_limit, open_websocket
from dragoman.transport.websocket_server import AT_ONCE, AT_ONCE_BYTES, AsgiWebSocket
from tests.transport.asgi_server import served


class Server:
    """Gives each connection that is made to it, and keeps it until its transport has ended."""

    def __init__(self, limits: TransportLimits) -> None:
        self.arrived: asyncio.Queue[MessageTransport] = asyncio.Queue()
        self._limits = limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            await send({"type": "http.response.start", "status": 404})
            await send({"type": "http.response.body"})
            return
        await receive()
        if scope["path"] == "/refused":
            await send({"type": "websocket.close"})
            return
        stream = AsgiWebSocket(receive, send)
        await stream.accept(connection_id="c-1")
        transport = MessageTransport(stream, limits=self._limits)
        self.arrived.put_nowait(transport)
        await transport.wait_closed()


SMALL = TransportLimits(frame=8_000_000, flush=0.5)


@pytest.mark.bound(60)
async def test_it_keeps_the_contract_of_transports() -> None:
    server = Server(SMALL)
    async with served(server, ws_max_size=hard_limit(SMALL)) as port:

        async def make_pair() -> tuple[Transport, Transport]:
            client = await open_websocket(f"ws://127.0.0.1:{port}/acp", limits=SMALL)
            return client, await server.arrived.get()

        await check_transport(make_pair)


async def test_a_server_that_does_not_want_us_is_named() -> None:
    async with served(Server(SMALL)) as port:
        with pytest.raises(LinkClosed, match="refused the connection with status 403"):
            await open_websocket(f"ws://127.0.0.1:{port}/refused")
    with pytest.raises(LinkClosed, match="cannot be reached"):
        await open_websocket(f"ws://127.0.0.1:{port}/acp")
    with pytest.raises(LocalMistake, match="not an address of a WebSocket"):
        await open_websocket("http://127.0.0.1/acp")


async def test_a_header_that_cannot_be_sent_is_named_without_its_value() -> None:
    async with served(Server(SMALL)) as port:
        with pytest.raises(LinkClosed, match="authorization") as caught:
            await open_websocket(
                f"ws://127.0.0.1:{port}/acp", headers={"authorization": "Bearer secret\x1b[0m"}
            )
    assert "secret" not in str(caught.value)


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """The address of one that shakes hands and says no more."""
    taken: list[asyncio.StreamWriter] = []

    async def shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        (key,) = re.findall(r"(?i)sec-websocket-key: (\S+)", head)
        answer = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        writer.write("\r\n".join([*answer, f"Sec-WebSocket-Accept: {accept_key(key)}", "", ""]).encode())

    server = await asyncio.start_server(shake_hands, "127.0.0.1", 0)
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"
    finally:
        for writer in taken:
            writer.transport.abort()
        server.close()
        await server.wait_closed()


async def test_a_server_that_never_says_goodbye_is_let_go_and_leaves_nothing_behind() -> None:
    async with silent_server() as url:
        transport = await open_websocket(url, limits=TransportLimits(flush=0.1))
        await transport.aclose()
        assert not [task for task in asyncio.all_tasks() if "keepalive" in str(task.get_coro())]


class Ear:
    """Hears the end."""

    def __init__(self) -> None:
        self.over: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

    def feed(self, block: bytes) -> None:
        raise AssertionError(block)

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        self.over.set_result(reason)


async def test_a_server_that_answers_no_ping_is_gone_soon_afterwards() -> None:
    async with silent_server() as url:
        transport = await open_websocket(url, keepalive=0.3)
        ear = Ear()
        transport.start(ear)
        async with deadline(3):  # three tenths to the ping, three for its answer, one for a goodbye
            assert "keepalive ping timeout" in str(await ear.over)
        await transport.aclose()


async def test_a_client_that_takes_lines_gets_many_messages_in_one_text() -> None:
    sent: list[Any] = []
    at_once: list[bytes] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(event: Any) -> None:
        sent.append(event)

    def now(messages: Sequence[bytes]) -> bool:
        at_once.extend(messages)
        return True

    messages = [b'{"n":%d}' % number for number in range(1000)]
    await AsgiWebSocket(receive, send, batched_send=True, has_lines=True).send(messages)
    texts = [text for event in sent for text in event["many"]]
    assert len(texts) == 1
    assert texts[0].split(b"\n") == messages
    sent.clear()
    large = [b'"%s"' % (b"x" * 40_000) for _ in range(4)]
    await AsgiWebSocket(receive, send, has_lines=True).send(large)
    assert [event["text"].encode() for event in sent] == [b"\n".join(large[:2]), b"\n".join(large[2:])]
    assert AsgiWebSocket(receive, send, has_lines=True, now=now).send_now(messages[:3])
    assert at_once == [b"\n".join(messages[:3])]
    await AsgiWebSocket(receive, send, batched_send=True).send(messages[:2])
    assert sent[-1]["many"] == messages[:2]
    sent.clear()
    mixed = [*messages, *large, *messages[:3], b"x" * AT_ONCE_BYTES, *large, *large, b"1"]
    await AsgiWebSocket(receive, send, batched_send=True).send(mixed)
    events = [event["many"] for event in sent]
    assert [message for event in events for message in event] == mixed
    assert all(len(event) <= AT_ONCE and sum(map(len, event[:-1])) < AT_ONCE_BYTES for event in events)
    assert all(len(event) == AT_ONCE or sum(map(len, event)) >= AT_ONCE_BYTES for event in events[:-1])
