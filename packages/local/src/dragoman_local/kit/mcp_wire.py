"""Connects to MCP servers with the official package: to a program's standard streams, or to an address.

Importing this module imports `mcp`, which takes about a second; nothing but `mounts` does. A program is an
owned tree of ours rather than the package's child, so that it is gone when we are, however we end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from dragoman.errors import LinkClosed
from dragoman.schema import v1
from dragoman.sdk.environment import agent_environment
from dragoman.transport.contract import Grace
from dragoman.transport.process import ChildTransport, spawn

GRACE = Grace(after_eof=0.3, after_terminate=0.3, leftovers=0.1)
"""The seconds for a server to end: a session's end waits for it, so it is less than for an agent."""


@asynccontextmanager
async def open_client(server: Any, *, cwd: str) -> AsyncIterator[mcp.Client]:
    """Return a client of a server that is started and initialized."""
    if isinstance(server, v1.McpServerStdio):
        async with mcp.Client(_program(server, cwd), mode="auto") as client:
            yield client
        return
    headers = {header.name: header.value for header in server.headers}
    if isinstance(server, v1.McpServerSse):
        async with mcp.Client(sse_client(server.url, headers=headers), mode="legacy") as client:
            yield client
        return
    async with (
        create_mcp_http_client(headers=headers) as http,
        mcp.Client(streamable_http_client(server.url, http_client=http), mode="auto") as client,
    ):
        yield client


@asynccontextmanager
async def _program(server: v1.McpServerStdio, cwd: str) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a started program, as the package wants them."""
    env = agent_environment(explicit={variable.name: variable.value for variable in server.env})
    transport = spawn([server.command, *server.args], cwd=cwd, env=env, grace=GRACE, on_stderr=_ignore)
    inward, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](float("inf"))
    write_stream, outward = anyio.create_memory_object_stream[SessionMessage](0)
    writing: asyncio.Task[None] | None = None
    try:
        transport.start(_McpSink(inward))
        writing = asyncio.get_running_loop().create_task(_write(outward, transport))
        yield read_stream, write_stream
    finally:
        if writing is not None:
            writing.cancel()
        for stream in (inward, read_stream, write_stream, outward):
            stream.close()
        await transport.aclose()


class _McpSink:
    """Takes the frames of a program."""

    def __init__(self, inward: Any) -> None:
        self._inward = inward

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            if line.strip():
                self._give(line)

    def _give(self, line: bytes) -> None:
        try:
            message: object = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            message = error
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
            self._inward.send_nowait(message)

    def on_oversized(self, size: int) -> None:
        self._give(b"")  # no JSON: whoever waits for it is told that it cannot be read

    def on_end(self, reason: BaseException | None) -> None:
        self._inward.close()


async def _write(outward: Any, transport: ChildTransport) -> None:
    async for outgoing in outward:
        frame = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            transport.write(frame)
            await transport.drain()
        except LinkClosed:
            return


def _ignore(_: bytes) -> None:
    """Drop a server's complaint, which may contain secrets of the client."""
