"""One conversation over many connections, over transports that really run."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman import connect
from dragoman.errors import LinkClosed, LocalMistake
from dragoman.sdk.resumption import ConnectionNotice, ResumingTransport, resuming
from dragoman.testing import check_transport
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import Transport, TransportLimits
from dragoman.transport.memory import memory_pair
from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from tests.sdk.resumption.model import Hub, Message, frame
from tests.sdk.resumption.model_hub_server import Server
from tests.sdk.resumption.table import SESSION

TOKEN = new_token()


class Editor(SinkRecorder):
    """Writes to the transport, and remembers what comes back."""

    def __init__(self, transport: ResumingTransport) -> None:
        super().__init__()
        self.transport = transport
        transport.start(self)

    @property
    def messages(self) -> list[Message]:
        return [json.loads(line) for line in self.stream.splitlines()]

    def say(self, message: Message) -> None:
        self.transport.write(frame(message))

    def ask(self, number: int, method: str, **params: Any) -> None:
        self.say({"id": number, "method": method, "params": params})

    def prompt(self, number: int, text: str) -> None:
        self.ask(number, "session/prompt", sessionId="s0", prompt=[{"type": "text", "text": text}])

    async def answer(self, number: int) -> Message:
        def found() -> list[Message]:
            return [one for one in self.messages if one.get("id") == number and "method" not in one]

        await self.until(lambda: bool(found() or self.endings))
        (only,) = found()
        return only

    async def question(self) -> Message:
        await self.until(lambda: any("id" in one and "method" in one for one in self.messages))
        return next(one for one in self.messages if "id" in one and "method" in one)

    async def begin(self) -> None:
        self.ask(1, "initialize", protocolVersion=1)
        await self.answer(1)
        self.ask(2, "session/new", **SESSION)
        await self.answer(2)


@asynccontextmanager
async def editing(server: Server, **options: Any) -> AsyncIterator[Editor]:
    options = {"backoff": lambda failed: 0.0, **options}
    transport = ResumingTransport(server.open, **options)
    try:
        yield Editor(transport)
    finally:
        await transport.aclose()
        await server.cut()


def updates(editor: Editor) -> list[str]:
    return [one["params"]["update"]["n"] for one in editor.messages if one.get("method") == "session/update"]


async def test_a_turn_goes_on_over_the_next_connection() -> None:
    server = Server()
    async with editing(server) as editor:
        await editor.begin()
        editor.prompt(3, "uqu")
        question = await editor.question()
        await server.cut()
        editor.say({"id": question["id"], "result": {"said": "yes"}})
        assert (await editor.answer(3))["result"] == {"stopReason": "end_turn"}
        assert updates(editor) == ["hello", "n1", "n3"]
        assert server.hub.sessions["s0"].told[1:] == [("answer", "n2", "yes")]
        assert server.attempts == 2


async def test_what_is_said_without_a_connection_waits_its_turn_and_slows_its_writer() -> None:
    server = Server()
    async with editing(server, limits=TransportLimits(high=2_000, low=1_000)) as editor:
        await editor.begin()
        server.gate.clear()
        server.refusals = [LinkClosed("nobody is there")] * 3
        await server.cut()
        await server.until(lambda: server.attempts == 2)
        for number in range(3, 50):
            editor.prompt(number, "u")
        assert editor.transport.pending > 2_000
        server.gate.set()
        await editor.transport.drain()
        for number in range(3, 50):
            await editor.answer(number)
        assert server.attempts == 5
        prompts = [entry[1] for entry in server.hub.sessions["s0"].told]
        assert prompts == sorted(prompts, key=lambda key: int(key.rpartition("-")[2]))


async def test_a_paused_reader_stays_paused_over_a_cut() -> None:
    server = Server()
    async with editing(server) as editor:
        await editor.begin()
        editor.is_paused = True
        editor.transport.pause()
        await server.cut()
        editor.prompt(3, "uu")
        editor.is_paused = False
        editor.transport.resume()
        await editor.answer(3)
        assert updates(editor) == ["hello", "n1", "n2"]
        assert editor.faults == []


async def test_how_it_stands_is_told_when_it_changes() -> None:
    server, notices = Server(), list[ConnectionNotice]()
    async with editing(server, on_notice=notices.append) as editor:
        server.refusals = [LinkClosed("nobody is there")]
        await editor.begin()
        assert [notice.kind for notice in notices] == ["unreached", "back"]
        assert not editor.transport.is_unreached
        assert notices[0].reason == "nobody is there"
        await server.cut()
        editor.ask(3, "session/list")
        await editor.answer(3)
        assert [notice.kind for notice in notices] == ["unreached", "back", "lost", "back"]


async def test_a_hub_that_goes_for_good_leaves_nobody_waiting() -> None:
    server = Server()
    async with editing(server, give_up=0.0, backoff=lambda failed: 1.0) as editor:
        await editor.begin()
        editor.prompt(3, "q")
        await editor.question()
        await server.cut()
        await editor.until_ended()
        assert "the hub was gone" in (await editor.answer(3))["error"]["message"]
        assert isinstance(editor.endings[0], LinkClosed)
        with pytest.raises(LinkClosed, match="gone"):
            editor.prompt(4, "u")


async def test_a_refusal_is_final() -> None:
    server = Server()
    async with editing(server, is_final=lambda reason, known: known and "401" in str(reason)) as editor:
        await editor.begin()
        server.refusals = [LinkClosed("refused with status 401")]
        await server.cut()
        await editor.until_ended()
        assert server.attempts == 2


async def test_a_mistake_of_ours_is_no_reason_to_try_again() -> None:
    server = Server()
    server.refusals = [LocalMistake("a package is missing")]
    async with editing(server) as editor:
        editor.ask(1, "initialize", protocolVersion=1)
        await editor.until_ended()
        assert server.attempts == 1
        assert "a package is missing" in (await editor.answer(1))["error"]["message"]


async def test_a_hub_that_does_not_know_us_again_in_time_is_left() -> None:
    server = Server()
    async with editing(server, patience=0.2) as editor:
        await editor.begin()
        server.deaf = True
        await server.cut()
        await server.until(lambda: server.attempts >= 3)
        server.deaf = False
        editor.ask(3, "session/list")
        await editor.answer(3)


async def test_the_end_of_a_peer_that_is_no_hub_is_the_end() -> None:
    server = Server(Hub(is_hub=False))
    async with editing(server) as editor:
        editor.ask(1, "initialize", protocolVersion=1)
        await editor.answer(1)
        odd = b'{"jsonrpc": "2.0",  "id": "x", "method": "session/list"}\n'
        editor.transport.write(odd)
        await server.until(lambda: len(server.heard) == 2)
        assert server.heard[1] == json.loads(odd)
        await server.cut()
        await editor.until_ended()
        assert server.attempts == 1


async def test_it_keeps_the_contract_of_transports() -> None:
    async def pair() -> tuple[Transport, Transport]:
        limits = TransportLimits(flush=0.2)
        left, right = memory_pair(limits=limits)

        async def open_() -> Transport:
            return left

        return ResumingTransport(open_, limits=limits), right

    await check_transport(pair)


@asynccontextmanager
async def offered(server: Server, scheme: str) -> AsyncIterator[str]:
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    door = Admission({hash_token(TOKEN): Grant("one")}, hosts=local_hosts(port))
    async with open_listener(AcpEndpoint(door, server.accept), bound):
        yield f"{scheme}://127.0.0.1:{port}/acp"
        await server.cut()


@pytest.mark.bound(20)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_turn_survives_cuts_over_the_network(scheme: str) -> None:
    server = Server()
    async with offered(server, scheme) as url:
        token = {"authorization": f"Bearer {TOKEN}"}
        transport = resuming(url, headers=token, agent="review", backoff=lambda failed: 0.01)
        editor = Editor(transport)
        await editor.begin()
        assert server.heard[0]["params"]["_meta"]["dragoman"]["agent"] == "review"
        editor.prompt(3, "uqu")
        question = await editor.question()
        await server.cut()
        editor.say({"id": question["id"], "result": {"said": "yes"}})
        assert (await editor.answer(3))["result"] == {"stopReason": "end_turn"}
        await server.cut()
        editor.prompt(4, "uu")
        await editor.answer(4)
        assert updates(editor) == ["hello", "n1", "n3", "n4", "n5"]
        await transport.aclose()


@pytest.mark.bound(20)
async def test_a_client_of_the_sdk_survives_a_cut_too() -> None:
    server = Server()
    async with offered(server, "ws") as url:
        token = {"authorization": f"Bearer {TOKEN}"}
        async with connect(url, headers=token, resume=True) as agent:
            session = await agent.new_session(cwd="/tmp")
            await server.cut()
            assert (await session.prompt("")).stop_reason == "end_turn"


@pytest.mark.bound(20)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_wrong_token_ends_it_at_once(scheme: str) -> None:
    server = Server()
    async with offered(server, scheme) as url:
        transport = resuming(url, headers={"authorization": "Bearer wrong"})
        editor = Editor(transport)
        editor.ask(1, "initialize", protocolVersion=1)
        await editor.until_ended()
        assert "status 401" in (await editor.answer(1))["error"]["message"]
        await transport.aclose()
