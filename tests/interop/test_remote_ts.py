"""The official TypeScript SDK at the other end of Streamable HTTP, as client and as server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from dragoman import Agent, AgentSession, ClientHandle, Turn, connect
from dragoman.schema import v1
from tests.interop.programs import TS, needs_node
from tests.interop.test_remote import TOKEN, allowing, our_endpoint

pytestmark = [needs_node, pytest.mark.bound(30)]


@asynccontextmanager
async def node(script: str, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("node", str(TS / script), *words, stdin=pipe, stdout=pipe)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def careful() -> Agent:
    """Asks before it answers, and remembers one session."""
    agent = Agent("careful")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("look", kind="read") as call:
            permission = await call.ask()
        await turn.say(f"you said {bool(permission)}: {turn.text}")

    @agent.load_session
    async def load(message: v1.LoadSessionRequest, client: ClientHandle) -> None:
        session = client.sessions[message.session_id]
        assert isinstance(session, AgentSession)
        await session.say("earlier")

    return agent


async def test_the_official_client_talks_to_our_endpoint() -> None:
    async with our_endpoint(careful()) as place, node("remote_client.mjs", f"http://{place}", TOKEN) as one:
        assert one.stdout is not None
        report: dict[str, Any] = json.loads(await one.stdout.read())
    assert report == {
        "version": 1,
        "stopReason": "end_turn",
        "said": "you said True: hello",
        "loaded": "earlier",
        "lost": -32002,
    }


async def test_our_client_talks_to_the_official_server() -> None:
    async with node("remote_server.mjs") as server:
        assert server.stdout is not None
        port = int(await server.stdout.readline())
        client, replayed = allowing(), asyncio.Event()

        @client.update
        def take(note: v1.SessionNotification) -> None:
            if note.session_id == "stored":
                replayed.set()

        async with connect(f"http://127.0.0.1:{port}/acp", client=client) as agent:
            one, two = await agent.new_session(cwd="/tmp"), await agent.new_session(cwd="/tmp")
            texts = await asyncio.gather(one.prompt("hello"), two.prompt("there"))
            assert [turn.text for turn in texts] == ["selected: hello", "selected: there"]
            await agent.load_session("stored", cwd="/tmp")
            await replayed.wait()  # over another stream than the answer, which may overtake it
        async with httpx2.AsyncClient(timeout=None, trust_env=False) as http:
            assert (await http.get(f"http://127.0.0.1:{port}/cookies")).json() == ["node=one", None]
