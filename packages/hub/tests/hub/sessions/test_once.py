"""What is asked for twice is made once, though both ask at the same moment."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import Agent
from dragoman.schema.v1 import LoadSessionRequest
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

pytestmark = pytest.mark.bound(25)


async def test_one_key_makes_one_session() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        made = {await client.new(key="the-key"), await client.new(key="the-key")}
        assert len(made) == 1
        assert len({*made, await client.new(key="another")}) == 2


async def test_one_key_makes_one_session_though_it_is_asked_for_twice_at_once() -> None:
    async with staged({"one": obedient}) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        made = await asyncio.gather(client.new(key="k"), other.new(key="k"), client.new(key="other"))
        assert made[0] == made[1] != made[2]
        assert len(stage.hub.sessions) == 2
        forks = [
            one.call("session/fork", {"sessionId": made[0], "cwd": "/tmp", "mcpServers": []}, key="f")
            for one in (client, other)
        ]
        first, second = await asyncio.gather(*forks)
        assert first["sessionId"] == second["sessionId"]


async def test_a_session_that_only_the_agent_knows_is_taken_over_once() -> None:
    loads: list[str] = []

    def elder() -> Agent:
        agent = obedient()

        @agent.load_session
        async def load(request: LoadSessionRequest) -> None:
            loads.append(request.session_id)
            await asyncio.sleep(0.01)

        return agent

    async with staged({"one": elder}) as stage:
        clients = [await stage.client().begin() for _ in range(3)]
        params = {"sessionId": "old", "cwd": "/tmp", "mcpServers": []}
        await stage.end_agent("one")  # so that all of them wait for it
        await asyncio.gather(*(client.call("session/load", params) for client in clients))
        assert loads == ["old"]
        assert list(stage.hub.sessions) == ["old"]
        assert (await clients[2].answer(clients[2].prompt("old", "say 1")))["result"]
