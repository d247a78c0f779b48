"""A real hub with an agent and a client in this process, as it is seen by whoever watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dragoman import Agent, AgentHandle, Client, Turn, connect
from dragoman.schema import v1
from dragoman.sdk.serve import serving
from dragoman.transport.memory import memory_pair
from dragoman.transport.messages import MessageTransport
from dragoman.transport.websocket_server import AsgiWebSocket
from dragoman_hub.agents.channel import AgentChannel, DirectChannel
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.api.observability.hub_snapshot import HubSnapshot, transport_of
from dragoman_hub.api.observability.observer import Observer
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_local.journal import MemoryJournal
from tests.hub.api.observability.strict import parse


@asynccontextmanager
async def hub_of(agent: Agent, client: Client) -> AsyncIterator[tuple[HubSnapshot, Observer, AgentHandle]]:
    """A hub that is watched, and a client that came with the token `phone`."""
    observer = Observer()
    ours, theirs = memory_pair()

    async def start() -> AgentChannel:
        return DirectChannel(ours)

    spec = AgentSpec(name="asker", title="One that asks", open=start)
    async with serving(agent, theirs), MemoryJournal() as journal:
        options = HubOptions(default_agent="asker")
        async with Hub(observer.measure(journal), {"asker": spec}, options=options) as hub:
            seen = observer.see(hub, url="http://127.0.0.1:1/", journal="memory://")
            near, far = memory_pair()
            hub.accept(far, Grant("phone"))
            async with connect(near, client=client) as handle:
                yield seen, observer, handle


def asker() -> Agent:
    agent = Agent("asker")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        call = v1.ToolCallUpdate(tool_call_id="c", title="rm -rf peas")
        options = [v1.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
        question = v1.RequestPermissionRequest(session_id=turn.session_id, tool_call=call, options=options)
        await turn.client.ask("session/request_permission", question, v1.RequestPermissionResponse)
        await turn.say("done")

    return agent


@pytest.mark.bound(30)
async def test_a_hub_is_seen_while_it_waits_and_when_it_is_done() -> None:
    asked, may = asyncio.Event(), asyncio.Event()
    client = Client("phone")

    @client.request_permission
    async def decide(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        asked.set()
        await may.wait()
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="yes"))

    async with hub_of(asker(), client) as (seen, observer, handle):
        session = await handle.new_session(cwd="/tmp")
        turn = asyncio.ensure_future(session.prompt("go there"))
        waiting = asyncio.ensure_future(asked.wait())
        await asyncio.wait({turn, waiting}, return_when=asyncio.FIRST_COMPLETED)
        assert not turn.done(), turn.exception()
        status = await observer.status(seen)
        (agent,), (one,), (connection,) = status.agents, status.sessions, status.connections
        assert (agent.name, agent.title, agent.state, agent.sessions) == ("asker", "One that asks", "up", 1)
        assert (one.session_id, one.agent, one.state, one.asking, one.clients) == (
            session.id,
            "asker",
            "waiting",
            1,
            1,
        )
        assert (one.cwd, one.title) == ("/tmp", "go there")
        assert one.asked is not None
        assert (connection.token, connection.transport, connection.sessions) == ("phone", "other", 1)
        assert (status.health, status.journal.address, status.journal.size) == ("ok", "memory://", None)
        may.set()
        await turn
        read = parse(await observer.metrics(seen))
    assert read["dragoman_turns_total"].value(agent="asker", stop_reason="end_turn") == 1
    assert read["dragoman_approvals_settled_total"].value(outcome="answered") == 1
    assert read["dragoman_approvals_open"].value() == 0
    assert read["dragoman_agent_up"].value(agent="asker") == 1
    assert read["dragoman_frames_total"].value(direction="to_client") >= 3


async def test_a_connection_is_named_by_what_it_came_over() -> None:
    async def receive() -> object:
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(event: object) -> None:
        pass

    class Front:
        def __init__(self, inner: object) -> None:
            self.inner = inner

    wire = MessageTransport(AsgiWebSocket(receive, send))
    assert transport_of(Front(Front(wire))) == "websocket"
    assert transport_of(object()) == "other"
    await wire.aclose()
