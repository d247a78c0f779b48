"""Streamable HTTP between our client and our server over real sockets, and the server alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest

from dragoman import Agent, Client, Turn, connect
from dragoman.errors import LinkClosed
from dragoman.schema import v1
from dragoman.sdk.serve import serving
from dragoman.transport.http_client import open_http
from dragoman.transport.http_server import HttpConnections
from dragoman.transport.messages import MessageTransport
from tests.transport.asgi_server import served


class Endpoint:
    """Serves an agent on every connection."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.connections = HttpConnections(self._accept)
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.connections.handle(scope, receive, send)

    def _accept(self, transport: MessageTransport, scope: Any) -> None:
        task = asyncio.create_task(self._serve(transport))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, transport: MessageTransport) -> None:
        async with serving(self._agent, transport) as link:
            await link.wait_ended()

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


def asking() -> Agent:
    agent = Agent("remote")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for number in range(50):
            await turn.say(f"{number} ")
        text = await turn.read_text_file("/a.txt") if turn.text == "read" else turn.text
        await turn.say(text)

    return agent


@asynccontextmanager
async def listening(**options: Any) -> AsyncIterator[str]:
    endpoint = Endpoint(asking())
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(served(endpoint, **options))
        stack.push_async_callback(endpoint.aclose)
        yield f"http://127.0.0.1:{port}/acp"


def lending() -> Client:
    client = Client("reader")

    @client.read_text_file
    async def read(request: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        return v1.ReadTextFileResponse(content="lent")

    return client


@pytest.mark.bound(20)
async def test_a_conversation_over_http() -> None:
    async with listening() as url, connect(open_http(url), client=lending()) as agent:
        one, two = await agent.new_session(cwd="/tmp"), await agent.new_session(cwd="/tmp")
        texts = await asyncio.gather(one.prompt("hello"), two.prompt("read"))
        counted = "".join(f"{number} " for number in range(50))
        assert [turn.text for turn in texts] == [counted + "hello", counted + "lent"]


INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


@pytest.mark.bound(20)
async def test_requests_that_make_no_sense_are_refused() -> None:
    async with listening() as url, httpx2.AsyncClient(timeout=None) as http:
        assert (
            await http.post(url, content=b"{", headers={"content-type": "application/json"})
        ).status_code == 400
        assert (
            await http.post(url, content=b"{}", headers={"content-type": "text/plain"})
        ).status_code == 415
        batch = await http.post(url, json=[INITIALIZE])
        assert (batch.status_code, batch.json()["error"]["code"]) == (400, -32600)
        assert (await http.post(url, json={**INITIALIZE, "id": None})).status_code == 400
        assert (await http.post(url, json={**INITIALIZE, "method": "session/new"})).status_code == 400
        assert (await http.get(url, headers={"accept": "text/html"})).status_code == 406
        assert (await http.get(url)).status_code == 400
        assert (await http.put(url)).status_code == 405
        unknown = {"acp-connection-id": "nobody"}
        assert (
            await http.post(url, json={"jsonrpc": "2.0", "method": "x"}, headers=unknown)
        ).status_code == 404
        assert (await http.delete(url, headers=unknown)).status_code == 404


@pytest.mark.bound(20)
async def test_a_stream_has_one_reader_and_one_that_comes_back_gets_what_it_missed() -> None:
    async with listening() as url, httpx2.AsyncClient(timeout=None) as http:
        first = await http.post(url, json=INITIALIZE)
        named = {"acp-connection-id": first.headers["acp-connection-id"]}
        assert first.json()["result"]["protocolVersion"] == 1
        stream = {**named, "accept": "text/event-stream"}
        async with http.stream("GET", url, headers=stream) as reading:
            assert (await http.get(url, headers=stream)).status_code == 409
            asked = {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "session/new",
                "params": {"cwd": "/tmp", "mcpServers": []},
            }
            assert (await http.post(url, json=asked, headers=named)).status_code == 202
            lines = reading.aiter_lines()
            heard = [await anext(lines), await anext(lines)]
        assert heard[0] == "id: 1"
        assert json.loads(heard[1].removeprefix("data: "))["id"] == 2
        again = {**stream, "last-event-id": "0"}
        async with http.stream("GET", url, headers=again) as reading:
            lines = reading.aiter_lines()
            assert [await anext(lines), await anext(lines)] == heard
        assert (await http.delete(url, headers=named)).status_code == 202
        assert (await http.delete(url, headers=named)).status_code == 404


@pytest.mark.bound(20)
async def test_a_server_that_is_not_there_is_named() -> None:
    async with listening() as url:
        pass
    with pytest.raises(LinkClosed, match=f"{url} cannot be reached: nothing listens there"):
        async with connect(open_http(url)):
            pass
