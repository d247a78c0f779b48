"""HTTP/2: only when it is asked for, and a reader without credit slows its own stream."""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dragoman import Agent, Turn, connect
from dragoman.errors import LocalMistake
from dragoman.hub.api.endpoint import AcpEndpoint
from dragoman.hub.api.listener import Tls
from dragoman.hub.gate.admission import Admission, Grant, hash_token, new_token
from dragoman.sdk.serve import serving
from dragoman.transport import http_asgi
from dragoman.transport.http_client import open_http
from dragoman.transport.messages import MessageTransport
from tests.hub.api.http2_client import http2_client
from tests.hub.api.http2_proxy import http2_proxy
from tests.hub.doors import asked, door, peers
from tests.journal.nats.certificates import Authority

BLOCK = bytes(65536)
BLOCKS = 64


class Flood:
    """Answers `/flood` with four mebibytes, and everything else with a word."""

    def __init__(self) -> None:
        self.sent = 0
        self.over = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/flood":
            for _ in range(BLOCKS):
                await send({"type": "http.response.body", "body": BLOCK, "more_body": True})
                self.sent += len(BLOCK)
            self.over.set()
        await send({"type": "http.response.body", "body": b"ok"})


async def test_what_a_reader_without_credit_has_not_taken_is_not_gathered() -> None:
    app = Flood()
    async with door(app, http2=True) as at, http2_client(at.port, window=0) as client:
        stream = client.ask("/flood", at.port)
        for _ in range(50):
            await client.round_trip()
        assert app.sent <= 2 * len(BLOCK)
        client.credit(100_000, stream)
        while client.data.get(stream, 0) < 65_535:  # the window of the connection
            await client.read()
        assert app.sent <= 4 * len(BLOCK)
        client.credit(2**31 - 200_000)
        client.credit(2**31 - 200_000, stream)
        await client.wait_ended(stream)
        assert client.data[stream] == BLOCKS * len(BLOCK) + 2


async def test_a_stream_without_credit_does_not_hold_up_the_others() -> None:
    app = Flood()
    async with door(app, http2=True) as at, http2_client(at.port, window=0) as client:
        client.ask("/flood", at.port)
        await client.round_trip()
        other = client.ask("/other", at.port)
        client.credit(100, other)
        await client.wait_ended(other)
        assert client.data[other] == 2


@pytest.mark.parametrize("leaves", [True, False], ids=["the connection ends", "the stream is reset"])
async def test_a_sender_that_waits_for_credit_is_let_go_when_its_reader_leaves(*, leaves: bool) -> None:
    app = Flood()
    async with door(app, http2=True) as at, http2_client(at.port, window=0) as client:
        stream = client.ask("/flood", at.port)
        await client.round_trip()
        if leaves:
            client.leave()
        else:
            client.reset(stream)
        await app.over.wait()


async def test_a_target_that_is_not_ascii_ends_its_connection_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with door(Flood(), http2=True) as at, http2_client(at.port) as client:
        client.ask("/\xe9", at.port)
        while await client.read():
            pass
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_both_versions_are_spoken_on_one_port_in_clear() -> None:
    async with door(Flood(), http2=True) as at, http2_client(at.port) as client:
        await client.wait_ended(client.ask("/other", at.port))
        assert await asked(at, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") == 200


@pytest.mark.parametrize(("http2", "version"), [(True, "HTTP/2"), (False, "HTTP/1.1")])
async def test_a_client_of_the_net_speaks_it_over_tls_if_it_was_asked_for(
    tmp_path: Path, *, http2: bool, version: str
) -> None:
    authority = Authority(tmp_path)
    pair = authority.pair("hub")
    trust = ssl.create_default_context(cafile=str(authority.ca))
    async with (
        door(tls=Tls(str(pair.cert), str(pair.key)), http2=http2) as at,
        httpx2.AsyncClient(http2=True, verify=trust, trust_env=False) as http,
    ):
        address = f"https://127.0.0.1:{at.port}/ticket"
        refused = await http.post(address)
        admitted = await http.post(address, headers={"authorization": f"Bearer {at.token}"})
    assert (refused.status_code, admitted.status_code, admitted.http_version) == (401, 200, version)


async def test_nothing_parses_http2_that_was_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zttp", None)
    async with door() as at, peers(at, 1) as (peer,):
        peer.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert await peer.status() in (400, 0)


async def test_without_its_package_it_is_refused_and_a_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zttp", None)
    monkeypatch.delitem(sys.modules, "dragoman.hub.api.private_uvicorn_http2", raising=False)
    with pytest.raises(LocalMistake, match=r"dragoman\[http2\].*reverse proxy"):
        async with door(http2=True):
            pass


class Conversations:
    """An endpoint with an agent that counts, and says back what it is told."""

    def __init__(self, token: str) -> None:
        self.admission = Admission({hash_token(token): Grant("owner")}, hosts=[])
        self._endpoint = AcpEndpoint(self.admission, self._accept)
        self._tasks: set[asyncio.Task[None]] = set()
        self.versions: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.versions.add(scope["http_version"])
        await self._endpoint(scope, receive, send)

    def _accept(self, transport: MessageTransport, visit: Any) -> None:
        task = asyncio.create_task(self._serve(transport))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, transport: MessageTransport) -> None:
        agent = Agent("counter")

        @agent.prompt
        async def reply(turn: Turn) -> None:
            for number in range(200):
                await turn.say(f"{number} " + "x" * 1000)
            await turn.say(turn.text)

        async with serving(agent, transport) as link:
            await link.wait_ended()

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


@pytest.mark.bound(20)
@pytest.mark.parametrize(("way", "version"), [("option", "2"), ("proxy", "1.1")])
async def test_sessions_run_side_by_side_over_http2_by_the_option_and_by_a_proxy(
    way: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    pair = authority.pair("hub")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    # No sign of life moves on what the client has got and does not look at.
    monkeypatch.setattr(http_asgi, "IDLE", 3600.0)
    tls = Tls(str(pair.cert), str(pair.key))
    token = new_token()
    app = Conversations(token)
    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(
            door(app, tls=tls if way == "option" else None, http2=way == "option")
        )
        port = at.port
        if way == "proxy":
            port = await stack.enter_async_context(http2_proxy(at.port, tls.certificate, tls.key))
        app.admission.rename(hosts=[f"127.0.0.1:{port}"], origins=[])
        stack.push_async_callback(app.aclose)
        headers = {"authorization": f"Bearer {token}"}
        async with connect(open_http(f"https://127.0.0.1:{port}/acp", headers=headers)) as agent:
            sessions = [await agent.new_session(cwd="/tmp") for _ in range(3)]
            turns = await asyncio.gather(*(session.prompt(f"end {n}") for n, session in enumerate(sessions)))
    counted = "".join(f"{number} " + "x" * 1000 for number in range(200))
    assert [turn.text for turn in turns] == [f"{counted}end {number}" for number in range(3)]
    assert app.versions == {version}
