"""A running agent: handshake, sessions, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dragoman import Agent, AgentSession, Client, ClientHandle, Turn, connect
from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    InitializeRequest,
    InitializeResponse,
    LoadSessionRequest,
    NewSessionRequest,
    NewSessionResponse,
    SessionNotification,
)
from tests.runtime.clock import virtually
from tests.runtime.raw import notification, request
from tests.sdk.ends import INITIALIZE, NEW, chunk, prompt, raw_client, text_of


def echoing(**options: Any) -> Agent:
    agent = Agent("echo", **options)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


# The handshake.


async def test_nothing_is_answered_before_initialize() -> None:
    async with raw_client(echoing()) as client:
        client.send(request(1, "session/new", NEW), notification("session/cancel", {"sessionId": "x"}))
        assert (await client.answer_to(1))["error"]["code"] == -32600


async def test_what_is_sent_together_with_initialize_is_answered_after_it() -> None:
    async with raw_client(echoing()) as client:
        client.send(INITIALIZE, request(1, "session/new", NEW), request(2, "unknown"))
        assert [(await client.next())["id"] for _ in range(3)] == [0, 1, 2]


async def test_initialize_may_be_repeated_until_something_else_was_asked() -> None:
    async with raw_client(echoing()) as client:
        client.send(INITIALIZE)
        first = await client.answer_to(0)
        client.send(INITIALIZE)
        assert await client.answer_to(0) == first
        client.send(request(1, "session/new", NEW), {**INITIALIZE, "id": 2})
        assert "result" in await client.answer_to(1)
        error = (await client.answer_to(2))["error"]
        assert error["code"] == -32600
        assert "already initialized" in error["message"]


async def test_a_failed_initialize_may_be_tried_again() -> None:
    async with raw_client(echoing()) as client:
        client.send(request(0, "initialize", {"protocolVersion": "one"}), request(1, "session/new", NEW))
        assert (await client.answer_to(0))["error"]["code"] == -32602
        assert (await client.answer_to(1))["error"]["code"] == -32600
        client.send({**INITIALIZE, "id": 2}, request(3, "session/new", NEW))
        assert "result" in await client.answer_to(3)


@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 1), (0, 1), (65535, 1)])
async def test_the_version_that_is_spoken_is_answered(asked: int, answered: int) -> None:
    async with raw_client(echoing()) as client:
        client.send(request(0, "initialize", {"protocolVersion": asked}))
        assert (await client.answer_to(0))["result"]["protocolVersion"] == answered


async def test_an_own_initialize_handler_may_answer_itself_or_leave_it_to_us() -> None:
    for own in (None, InitializeResponse(protocol_version=1, meta={"mine": 1})):
        agent = echoing(version="9")

        @agent.initialize
        async def initialize(message: InitializeRequest, own: Any = own) -> InitializeResponse | None:
            assert isinstance(message, InitializeRequest)
            answer: InitializeResponse | None = own
            return answer

        async with raw_client(agent) as client:
            client.send(INITIALIZE)
            answer = (await client.answer_to(0))["result"]
        assert answer.get("_meta") == (None if own is None else {"mine": 1})
        assert (answer.get("agentInfo") or {}).get("version") == ("9" if own is None else None)


# Sessions.


async def test_a_session_that_nobody_opened_is_not_found() -> None:
    async with raw_client(echoing()) as client:
        await client.open()
        client.prompt(1, "nobody's")
        error = (await client.answer_to(1))["error"]
    assert (error["code"], error["data"]) == (-32002, {"sessionId": "nobody's"})


async def test_every_session_has_an_id_of_its_own() -> None:
    async with raw_client(echoing()) as client:
        ids = {await client.open()}
        client.send(*(request(n, "session/new", NEW) for n in range(20)))
        ids |= {(await client.answer_to(n))["result"]["sessionId"] for n in range(20)}
    assert len(ids) == 21


async def test_an_agent_sees_where_its_session_works() -> None:
    agent = Agent("roots", additional_directories=True)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        session = turn.session
        await turn.say(
            json.dumps([session.cwd, session.roots, [server.name for server in session.mcp_servers]])
        )

    async with raw_client(agent) as client:
        client.send(INITIALIZE)
        stdio = {"name": "files", "command": "mcp", "args": [], "env": []}
        setup = {"cwd": "/work", "mcpServers": [stdio], "additionalDirectories": ["/lib"]}
        client.send(request(1, "session/new", setup))
        session = (await client.answer_to(1))["result"]["sessionId"]
        client.prompt(2, session)
        await client.answer_to(2)
        assert json.loads(client.texts(session)[0]) == ["/work", ["/work", "/lib"], ["files"]]


@pytest.mark.parametrize(
    "setup",
    [
        {"cwd": "relative", "mcpServers": []},
        {"cwd": "", "mcpServers": []},
        {"cwd": "~", "mcpServers": []},
        {"cwd": "/tmp", "mcpServers": [], "additionalDirectories": ["/more"]},
        {"cwd": "/tmp", "mcpServers": [{"type": "http", "name": "n", "url": "http://x", "headers": []}]},
        {"cwd": "/tmp", "mcpServers": [{"type": "sse", "name": "n", "url": "http://x", "headers": []}]},
        {"cwd": "/tmp", "mcpServers": [{"type": "acp", "name": "n", "id": "i"}]},
    ],
    ids=["relative", "empty", "home", "more folders", "http", "sse", "acp"],
)
async def test_what_was_not_advertised_or_cannot_be_a_folder_is_refused_before_any_work(setup: Any) -> None:
    agent = echoing()
    called: list[Any] = []

    @agent.new_session
    async def new(message: NewSessionRequest) -> NewSessionResponse:
        called.append(message)
        return NewSessionResponse(session_id="s")

    async with raw_client(agent) as client:
        client.send(INITIALIZE, request(1, "session/new", setup))
        assert (await client.answer_to(1))["error"]["code"] == -32602
    assert called == []


@pytest.mark.parametrize("folder", ["/tmp", "C:\\work", "C:/work", "\\\\server\\share"])
async def test_folders_of_every_system_are_taken(folder: str) -> None:
    async with raw_client(echoing()) as client:
        client.send(INITIALIZE, request(1, "session/new", {"cwd": folder, "mcpServers": []}))
        assert "result" in await client.answer_to(1)


@pytest.mark.parametrize(
    ("block", "option"),
    [
        ({"type": "image", "data": "", "mimeType": "image/png"}, "image"),
        ({"type": "audio", "data": "", "mimeType": "audio/wav"}, "audio"),
        ({"type": "resource", "resource": {"uri": "file:///x", "text": "t"}}, "embedded_context"),
    ],
)
async def test_content_that_was_not_advertised_is_refused(block: Any, option: str) -> None:
    for offered in (False, True):
        async with raw_client(echoing(**{option: offered})) as client:
            session = await client.open()
            client.send(request(1, "session/prompt", {"sessionId": session, "prompt": [block]}))
            answer = await client.answer_to(1)
        assert answer.get("error", {}).get("code") == (None if offered else -32602)


async def test_content_of_an_unknown_type_is_refused_and_links_and_text_are_always_taken() -> None:
    async with raw_client(echoing()) as client:
        session = await client.open()
        blocks = [{"type": "text", "text": "x"}, {"type": "resource_link", "uri": "file:///x", "name": "x"}]
        client.send(
            request(1, "session/prompt", {"sessionId": session, "prompt": blocks}),
            request(2, "session/prompt", {"sessionId": session, "prompt": [{"type": "hologram"}]}),
        )
        assert "result" in await client.answer_to(1)
        assert (await client.answer_to(2))["error"]["code"] == -32602


# Loading.


def remembering(replayed: int, gate: asyncio.Event | None = None) -> Agent:
    agent = echoing()

    @agent.load_session
    async def load(message: LoadSessionRequest, client: ClientHandle) -> None:
        session = client.sessions[message.session_id]
        assert isinstance(session, AgentSession)
        if message.session_id == "broken":
            raise RuntimeError("the store is broken")
        for n in range(replayed):
            await session.say(str(n))
            if n % 100 == 0:
                await asyncio.sleep(0)
        if gate is not None:
            await gate.wait()

    return agent


async def test_a_load_replays_everything_before_it_answers() -> None:
    heard: list[str] = []
    client = Client()

    @client.update
    def take(note: SessionNotification) -> None:
        heard.append(text_of(note.update))

    async with connect(remembering(1000), client=client) as handle:
        session = await handle.load_session("old", cwd="/tmp")
        assert heard == [str(n) for n in range(1000)]
        assert [text_of(update) for update in session.late] == heard
        assert (await session.prompt("go on")).text == "go on"


async def test_a_load_that_fails_leaves_no_session() -> None:
    async with raw_client(remembering(3)) as client:
        client.send(INITIALIZE)
        client.send(request(1, "session/load", {**NEW, "sessionId": "broken"}))
        assert (await client.answer_to(1))["error"]["code"] == -32603
        client.prompt(2, "broken")
        assert (await client.answer_to(2))["error"]["code"] == -32002


async def test_a_load_that_fails_does_not_close_the_session_that_was_open() -> None:
    agent = echoing()

    @agent.resume_session
    async def resume(message: Any) -> None: ...

    @agent.load_session
    async def load(message: Any) -> None:
        raise RuntimeError

    async with raw_client(agent) as client:
        client.send(INITIALIZE, request(1, "session/resume", {"sessionId": "old", "cwd": "/tmp"}))
        await client.answer_to(1)
        client.send(request(2, "session/load", {**NEW, "sessionId": "old"}))
        assert (await client.answer_to(2))["error"]["code"] == -32603
        client.prompt(3, "old")
        assert "result" in await client.answer_to(3)


async def test_a_load_that_fails_at_the_client_leaves_its_session_alone() -> None:
    async with connect(remembering(3)) as handle:
        session = await handle.load_session("old", cwd="/tmp")
        with pytest.raises(CallFailed):
            await handle.load_session("broken", cwd="/tmp")
        assert set(handle.side.sessions) == {"old"}
        assert (await session.prompt("still")).text == "still"


# Closing.


async def test_a_closed_session_is_gone_even_if_its_handler_failed() -> None:
    agent = echoing()

    @agent.close_session
    async def close(message: Any, client: ClientHandle) -> None:
        assert message.session_id in client.sessions  # to find what has to be put away
        raise RuntimeError

    async with raw_client(agent) as client:
        session = await client.open()
        client.send(request(1, "session/close", {"sessionId": session}))
        assert (await client.answer_to(1))["error"]["code"] == -32603
        client.prompt(2, session)
        assert (await client.answer_to(2))["error"]["code"] == -32002
        client.send(request(3, "session/close", {"sessionId": session}))
        assert (await client.answer_to(3))["error"]["code"] == -32002


def test_closing_waits_no_longer_than_a_cancel_for_a_handler_that_does_not_end() -> None:
    async def body() -> None:
        agent = Agent("stubborn")

        @agent.prompt
        async def reply(turn: Turn) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(60)

        async with raw_client(agent) as client:
            session = await client.open()
            client.prompt(1, session)
            client.prompt(2, session)
            client.send(request(3, "session/close", {"sessionId": session}))
            answers = [await client.next() for _ in range(3)]
            assert sorted(frame["id"] for frame in answers[:2]) == [1, 2]
            assert all(frame["result"] == {"stopReason": "cancelled"} for frame in answers[:2])
            assert answers[2]["id"] == 3
            assert asyncio.get_running_loop().time() < 2
            await asyncio.sleep(100)

    virtually(body())


# Notifications.


async def test_the_cancel_hook_is_told_besides_the_turn_being_cancelled() -> None:
    agent = Agent("told")
    told: list[str] = []

    @agent.cancel
    async def cancelled(message: Any) -> None:
        told.append(message.session_id)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await asyncio.Event().wait()

    async with raw_client(agent) as client:
        session = await client.open()
        client.send(prompt(1, session), notification("session/cancel", {"sessionId": session}))
        assert (await client.answer_to(1))["result"] == {"stopReason": "cancelled"}
        await asyncio.sleep(0)
    assert told == [session]


async def test_notifications_that_nobody_takes_and_answers_to_nothing_are_nothing() -> None:
    async with raw_client(echoing()) as client:
        session = await client.open()
        count = len(client.seen)
        client.send(
            notification("_unknown/extension", {"x": 1}),
            notification("unknown/method"),
            notification("$/unknown"),
            chunk(session, "an update for an agent"),
            {"jsonrpc": "2.0", "id": 77, "result": {}},
            request("x", "unknown"),
        )
        await client.answer_to("x")
        assert len(client.seen) == count + 1
