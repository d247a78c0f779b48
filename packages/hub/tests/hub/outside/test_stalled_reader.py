"""A real hub with a client that stops reading while an agent says 24 MiB: what it costs, and what the client
gets when it reads on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.hub.faults.stage import MEBIBYTE, Stage
from tests.hub.faults.talk import Events, answer, connection, drop, head, prompt, request, socket
from tests.hub.outside.process import UNHURRIED, HubProcess, running_hub
from tests.hub.outside.test_greed import peaks
from tests.hub.sessions.raw_agents import eventually

pytestmark = [
    pytest.mark.bound(60),  # a hub is started, and much is said
    pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc"),
]

AGENT = str(Path(__file__).with_name("flood_agent.py"))
SIZE = 1024
COUNT = 24 * MEBIBYTE // SIZE


def configuration() -> str:
    command = json.dumps([sys.executable, AGENT])
    return f'{UNHURRIED}\n[agents.flood]\ncommand = {command}\ndialect = "v1"\n'


def stage_of(hub: HubProcess) -> Stage:
    """For clients by hand, which know stages."""
    stage = Stage()
    stage.port, stage.token = hub.port, hub.token
    return stage


def new(hub: HubProcess) -> dict[str, Any]:
    meta = {"dragoman": {"agent": "flood"}}
    return request(1, "session/new", cwd=str(hub.work), mcpServers=[], _meta=meta)


async def by_websocket(hub: HubProcess, stack: AsyncExitStack) -> AsyncIterator[Any]:
    client = await stack.enter_async_context(socket(stage_of(hub)))
    session = (await client.call(new(hub)))["result"]["sessionId"]
    await client.say(prompt(2, session, f"{SIZE} {COUNT}"))
    yield session
    while True:
        yield await client.hear()


async def by_http(hub: HubProcess, stack: AsyncExitStack) -> AsyncIterator[Any]:
    stage = stage_of(hub)
    client = await stack.enter_async_context(connection(stage))
    async with client.events() as events:
        await client.post(new(hub))
        session = (await anext(events))["result"]["sessionId"]
    reader, writer = await asyncio.open_connection("127.0.0.1", hub.port)
    stack.push_async_callback(drop, writer)
    writer.write(head("GET", stage, accept="text/event-stream", acp_session_id=session, **client.named))
    assert (await answer(reader))[0] == 200
    await client.post(prompt(2, session, f"{SIZE} {COUNT}"), acp_session_id=session)
    yield session
    async for message in Events(reader):
        yield message


@pytest.mark.parametrize("way", [by_websocket, by_http])
async def test_a_client_that_stops_reading_costs_a_bounded_amount_and_misses_nothing(
    tmp_path: Path, way: Any
) -> None:
    with running_hub(tmp_path, config=configuration(), is_forked=False) as hub:
        other = await (await hub.client()).begin()
        session = await other.new(str(hub.work))
        await other.answer(other.prompt(session, "first"))
        before = peaks(hub)[hub.pid]
        async with AsyncExitStack() as stack:
            heard = way(hub, stack)
            await anext(heard)
            await eventually((hub.work / "said").exists)
            assert (await other.answer(other.prompt(session, "second")))["result"], "others are served"
            grown = peaks(hub)[hub.pid] - before
            assert grown <= 32 * MEBIBYTE, f"{grown / MEBIBYTE:.1f} MiB"
            numbers: list[int] = []
            while len(numbers) < COUNT:
                update = (await anext(heard)).get("params", {}).get("update", {})
                if update.get("sessionUpdate") == "agent_message_chunk":
                    numbers.append(int(update["content"]["text"].split(" ")[0]))
            assert numbers == list(range(COUNT)), "all of it comes, in order"
            await heard.aclose()
        await other.transport.aclose()
