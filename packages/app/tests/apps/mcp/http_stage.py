"""An MCP server on a socket of this machine, and the official client for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from dragoman_app.apps.gateway.folders import FolderRules
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.mcp.http_server import McpHttpServer, refusal_body
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.api.request_admission import AdmittedRequests
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts

TOKEN, OTHER_TOKEN = "t" * 40, "o" * 40
PAGE = "https://page.example"


class McpHttpStage:
    """A server that listens. `url` is its address."""

    def __init__(self, gateway: Gateway, server: McpHttpServer, port: int) -> None:
        self.gateway = gateway
        self.server = server
        self.url = f"http://127.0.0.1:{port}/mcp"

    @asynccontextmanager
    async def official_client(self, *, token: str = TOKEN, **callbacks: Any) -> AsyncIterator[Client]:
        """`callbacks` are those of the official client."""
        async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, **callbacks) as client:
                yield client

    @asynccontextmanager
    async def plain_client(self, *, token: str = TOKEN) -> AsyncIterator[PlainMcpClient]:
        """A client that sends what it is told to."""
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30) as http:
            yield PlainMcpClient(http)


class PlainMcpClient:
    """Requests by hand, for what the official client never does."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def initialize(self, *, version: str = "2025-11-25") -> httpx.Response:
        """Open a session, which is used from now on."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        answer = await self.post("initialize", params)
        if "mcp-session-id" in answer.headers:
            self.http.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        return answer

    async def post(self, method: str, params: object = None, **more: Any) -> httpx.Response:
        return await self.http.post("", json=message(method, params), **more)

    async def read_events(self, answer: httpx.Response, most: int = 100) -> list[tuple[str, str]]:
        """Ids and data of events, until there are so many or the stream ends."""
        events: list[tuple[str, str]] = []
        event_id = ""
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                event_id = line[4:]
            elif line.startswith("data:"):
                events.append((event_id, line[5:].strip()))
                if len(events) == most:
                    break
        return events


def message(method: str, params: object = None, request_id: int = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


@asynccontextmanager
async def http_stage(gateway: Gateway, folder: Path, **limits: Any) -> AsyncIterator[McpHttpStage]:
    """A server with this gateway; `limits` are those of `McpHttpServer`."""
    listening_socket = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = listening_socket.getsockname()[1]
    grants = {hash_token(TOKEN): Grant("token"), hash_token(OTHER_TOKEN): Grant("other")}
    admission = Admission(grants, hosts=local_hosts(port), origins=[PAGE])
    async with gateway:
        server = McpHttpServer(gateway, FolderRules(cwd=str(folder)), **limits)
        app = AdmittedRequests(
            admission, server.handle, refusal_body=refusal_body, readable_headers=b"mcp-session-id"
        )
        async with open_listener(app, listening_socket):
            try:
                yield McpHttpStage(gateway, server, port)
            finally:
                await asyncio.shield(server.aclose())
