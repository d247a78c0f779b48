"""Clients beyond the limit, and of agents that do not start, are told so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from dragoman.transport.websocket import open_websocket
from dragoman_hub.api.agent_per_connection import AgentPerConnection
from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
TOKEN = new_token()
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def offering(agents: AgentPerConnection) -> AsyncIterator[str]:
    """The address without its scheme."""
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    door = Admission({hash_token(TOKEN): Grant("one")}, hosts=local_hosts(port))
    async with open_listener(AcpEndpoint(door, agents.accept), bound):
        yield f"127.0.0.1:{port}/acp"
        await agents.aclose()


class Heard:
    def __init__(self) -> None:
        self.text = b""
        self.over: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

    def feed(self, block: bytes) -> None:
        self.text += block

    def on_oversized(self, size: int) -> None: ...

    def on_end(self, reason: BaseException | None) -> None:
        self.over.set_result(reason)


@pytest.mark.bound(20)
@pytest.mark.parametrize(
    ("agents", "why"),
    [
        (AgentPerConnection(["agent"], most=0), "too many clients"),
        (AgentPerConnection(["/there/is/no/such/agent"]), "could not be started"),
    ],
)
async def test_a_client_that_cannot_be_served_hears_why(agents: AgentPerConnection, why: str) -> None:
    async with offering(agents) as place:
        async with httpx2.AsyncClient(timeout=None, trust_env=False, headers=HEADERS) as http:
            answer = await http.post(f"http://{place}", json=INITIALIZE)
            assert (answer.status_code, why in answer.json()["error"]["message"]) == (503, True)
        socket, heard = await open_websocket(f"ws://{place}", headers=HEADERS), Heard()
        socket.start(heard)
        socket.write(json.dumps(INITIALIZE).encode() + b"\n")
        assert "1011" in str(await heard.over)
        assert why in json.loads(heard.text)["error"]["message"]
        await socket.aclose()
