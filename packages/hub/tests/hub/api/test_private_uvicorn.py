"""Parts of uvicorn that are not promised: the hub works with them, and without."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest
import websockets
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.server import ServerProtocol

from dragoman_hub.api import listener, private_uvicorn
from dragoman_hub.api.listener import Tls
from dragoman_hub.api.private_uvicorn import EXTENSION
from tests.hub.doors import Peer, asked, door, peers
from tests.nats.certificates import Authority

PRIVATE = pytest.mark.parametrize("private", [True, False], ids=["private", "public"])


def choose(monkeypatch: pytest.MonkeyPatch, *, private: bool) -> None:
    if not private:
        monkeypatch.setattr(listener, "private_uvicorn", None)


@PRIVATE
async def test_requests_are_admitted_and_refused_alike(
    monkeypatch: pytest.MonkeyPatch, *, private: bool
) -> None:
    choose(monkeypatch, private=private)
    async with door() as at:
        assert await asked(at, at.ticket) == 200
        assert await asked(at, at.ticket.replace(b"Bearer ", b"Bearer x")) == 401
        assert await asked(at, b"nonsense\r\n\r\n") == 400


@PRIVATE
async def test_websockets_carry_the_same_messages(monkeypatch: pytest.MonkeyPatch, *, private: bool) -> None:
    choose(monkeypatch, private=private)
    extensions: list[set[str]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        extensions.append(set(scope["extensions"]))
        await receive()
        await send({"type": "websocket.accept"})
        if EXTENSION in scope["extensions"]:
            await send({"type": "websocket.send", "many": [b"one", b"two"]})
        else:
            await send({"type": "websocket.send", "text": "one"})
            await send({"type": "websocket.send", "text": "two"})
        await send({"type": "websocket.close"})

    async with door(app) as at, websockets.connect(f"ws://127.0.0.1:{at.port}/") as client:
        assert [message async for message in client] == ["one", "two"]
    assert (EXTENSION in extensions[0]) is private


async def test_what_came_at_once_is_parsed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    receive_data = ServerProtocol.receive_data

    def noted(connection: ServerProtocol, data: bytes) -> None:
        sizes.append(len(data))
        receive_data(connection, data)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": str(len((await receive())["text"]))})
        await send({"type": "websocket.close"})

    monkeypatch.setattr(ServerProtocol, "receive_data", noted)
    async with door(app) as at, websockets.connect(f"ws://127.0.0.1:{at.port}/") as client:
        await client.send("x" * 500_000)
        assert [message async for message in client] == ["500000"]
    assert max(sizes) == private_uvicorn.PARSED_BYTES


async def test_the_public_way_is_logged_with_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    choose(monkeypatch, private=False)
    async with door():
        pass
    assert "request heads have no deadline" in caplog.text


def test_a_uvicorn_whose_protocols_take_other_parameters_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed(asyncio.Protocol):
        def __init__(self, config: object) -> None: ...

    private_uvicorn.check_parts()
    monkeypatch.setattr(private_uvicorn, "HttpToolsProtocol", Changed)
    with pytest.raises(ImportError, match="Changed takes no"):
        private_uvicorn.check_parts()


def test_a_uvicorn_that_lacks_a_method_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(WebSocketsSansIOProtocol, "handle_connect")
    with pytest.raises(ImportError, match="handle_connect"):
        private_uvicorn.check_parts()


async def test_a_refused_websocket_is_no_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async with door() as at:
        with pytest.raises(websockets.InvalidStatus):
            await websockets.connect(f"ws://127.0.0.1:{at.port}/acp")
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_http2_is_refused_with_prior_knowledge_and_never_offered_over_tls(tmp_path: Path) -> None:
    async with door() as at, peers(at, 1) as (peer,):
        peer.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert await peer.status() in (400, 0)
    authority = Authority(tmp_path)
    pair = authority.pair("hub")
    trust = ssl.create_default_context(cafile=str(authority.ca))
    trust.set_alpn_protocols(["h2", "http/1.1"])
    async with door(tls=Tls(str(pair.cert), str(pair.key))) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port, ssl=trust)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2"
        writer.write(at.ticket)
        assert await Peer(reader, writer).status() == 200
        writer.close()
        await writer.wait_closed()
