"""The official Python SDK at the other end of WebSocket and Streamable HTTP, as client and as server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import acp
import pytest
from acp.http import create_http_stream
from acp.http.asgi import create_asgi_app
from acp.ws import create_websocket_stream

from dragoman import Agent, Client, Turn, connect
from dragoman.schema import v1
from dragoman.sdk.serve import serving
from dragoman.transport.messages import MessageTransport
from dragoman_hub.api.endpoint import AcpEndpoint, Visit
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from tests.transport.asgi_server import served

TOKEN = new_token()
HEADERS = {"authorization": f"Bearer {TOKEN}"}


def careful() -> Agent:
    """Asks before it answers."""
    agent = Agent("careful")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("look", kind="read") as call:
            permission = await call.ask()
        await turn.say(f"you said {bool(permission)}: {turn.text}")

    return agent


@asynccontextmanager
async def our_endpoint(agent: Agent) -> AsyncIterator[str]:
    """An address without its scheme."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(transport: MessageTransport) -> None:
        async with serving(agent, transport) as link:
            await link.wait_ended()

    def accept(transport: MessageTransport, visit: Visit) -> None:
        task = asyncio.create_task(serve(transport))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    door = Admission({hash_token(TOKEN): Grant("test")}, hosts=local_hosts(port))
    async with open_listener(AcpEndpoint(door, accept), bound):
        yield f"127.0.0.1:{port}/acp"
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class Asked:
    def __init__(self) -> None:
        self.said = ""

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        return {"outcome": {"outcome": "selected", "optionId": options[0].option_id}}

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.said += getattr(getattr(update, "content", None), "text", "") or ""


@pytest.mark.bound(20)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_the_official_client_talks_to_our_endpoint(scheme: str) -> None:
    async with our_endpoint(careful()) as place:
        if scheme == "ws":
            stream = await create_websocket_stream(f"ws://{place}", headers=HEADERS)
        else:
            stream = create_http_stream(f"http://{place}", headers=HEADERS)
        client = Asked()
        connection = acp.connect_to_agent(cast(Any, client), stream)
        try:
            await connection.initialize(protocol_version=1)
            session = await connection.new_session(cwd="/tmp", mcp_servers=[])
            ended = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("hello")])
        finally:
            await connection.close()
            await stream.close()
    assert ended.stop_reason == "end_turn"
    assert client.said == "you said True: hello"


class Official:
    """The official SDK's agent; asks too."""

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, cwd: str = "", **_: Any) -> Any:
        return acp.NewSessionResponse(session_id=uuid.uuid4().hex)

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> Any:
        options = [acp.schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
        call = acp.schema.ToolCallUpdate(tool_call_id="c", title="look")
        chosen = await self._client.request_permission(options=options, session_id=session_id, tool_call=call)
        said = acp.text_block(f"{chosen.outcome.outcome}: {prompt[0].text}")
        await self._client.session_update(session_id=session_id, update=acp.update_agent_message(said))
        return acp.PromptResponse(stop_reason="end_turn")


def allowing() -> Client:
    client = Client("allowing")

    @client.request_permission
    async def allow(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        chosen = v1.SelectedPermissionOutcome(option_id=request.options[0].option_id)
        return v1.RequestPermissionResponse(outcome=chosen)

    return client


@pytest.mark.bound(20)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_our_client_talks_to_the_official_server(scheme: str) -> None:
    app = create_asgi_app(lambda _: cast(Any, Official()))
    async with served(app) as port, connect(f"{scheme}://127.0.0.1:{port}/acp", client=allowing()) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("hello")).text == "selected: hello"
