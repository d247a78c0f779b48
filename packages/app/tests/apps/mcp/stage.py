"""The official MCP client, joined in this process to a server of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from dragoman import Agent, Turn
from dragoman.wire import Id, decode
from dragoman_app.apps.gateway.folders import FolderRules
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.mcp.server import McpServer


@asynccontextmanager
async def official_client(
    gateway: Gateway, folder: Path, *, roots: tuple[str, ...] = (), **callbacks: Any
) -> AsyncIterator[Client]:
    """The client, with one server for it. `callbacks` are those of the official client."""
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](100)

    async def write(frame: bytes, related_to: Id) -> None:
        await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(frame)))

    server = McpServer(gateway, FolderRules(cwd=str(folder), roots=roots), write)

    async def read() -> None:
        async for message in from_client:
            frame = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            server.connection.receive(decode(frame.encode()))

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with to_client, from_server, to_server, from_client, anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            yield from_server, to_server
            tasks.cancel_scope.cancel()

    try:
        async with Client(transport(), **callbacks) as client:
            yield client
    finally:
        await server.aclose()


class Waiting:
    """An agent that waits until it is cancelled, or until so many wait."""

    def __init__(self, together: int = 1000) -> None:
        self.agent = Agent("waiting")
        self.count = 0
        self.began = asyncio.Event()
        self.cancelled = asyncio.Event()
        everybody = asyncio.Event()

        @self.agent.prompt
        async def reply(turn: Turn) -> None:
            self.count += 1
            self.began.set()
            if turn.text == "quick":
                await turn.say("quick")
                return
            if self.count >= together:
                everybody.set()
            try:
                await everybody.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            await turn.say(turn.text)


async def check_cancelled_call(client: Client, waiting: Waiting) -> None:
    """A call that its client cancels ends the turn, and the session takes another prompt."""
    first = await client.call_tool("prompt", {"text": "quick"})
    session = first.structured_content["session"]
    waiting.began.clear()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "prompt", {"text": "wait", "session": session})
        await waiting.began.wait()
        tasks.cancel_scope.cancel()
    await waiting.cancelled.wait()
    again = await client.call_tool("prompt", {"text": "quick", "session": session})
    assert again.structured_content["text"] == "quick"
