"""Sessions that nobody uses are closed in their agent, and loaded again when somebody asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman import Agent
from dragoman.schema import v1
from dragoman.testing.pace import deadline
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Stage, staged

LOAD = {"cwd": "/tmp", "mcpServers": []}


class Memory:
    """An agent that says which sessions it has open."""

    def __init__(self, *, loads: bool = True) -> None:
        self.gate = Gate()
        self.calls: list[str] = []
        self.closing = asyncio.Event()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self._loads = loads

    def agent(self) -> Agent:
        agent = obedient(self.gate)
        if self._loads:

            @agent.load_session
            async def load(_: v1.LoadSessionRequest) -> v1.LoadSessionResponse:
                self.calls.append("load")
                return v1.LoadSessionResponse()

        @agent.close_session
        async def close(_: v1.CloseSessionRequest) -> v1.CloseSessionResponse:
            self.calls.append("close")
            self.closing.set()
            await self.may_close.wait()
            return v1.CloseSessionResponse()

        return agent


@asynccontextmanager
async def unused(memory: Memory, *, after: float = 0.05) -> AsyncIterator[tuple[Stage, str]]:
    """A session of one turn whose client has left."""
    async with staged({"one": memory.agent}, release_after=after) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        await client.transport.aclose()
        yield stage, session


async def until(found: Callable[[], bool]) -> None:
    async with deadline(20):
        while not found():  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0.01)


async def test_a_session_without_clients_is_closed_in_its_agent_and_loaded_again_on_demand() -> None:
    memory = Memory()
    async with unused(memory) as (stage, session):
        await until(lambda: session not in stage.hub.sessions)
        assert memory.calls == ["close"]
        client = await stage.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        assert client.texts() == ["0 "]
        assert memory.calls == ["close"], "to look at it, the agent is not needed"
        assert (await client.answer(client.prompt(session, "say 2")))["result"] == {"stopReason": "end_turn"}
        assert memory.calls == ["close", "load"]


async def test_a_session_that_is_released_and_looked_at_stays_where_it_stood_in_lists() -> None:
    async with unused(Memory(), after=0.0) as (stage, old):
        client = await stage.client().begin()
        new = await client.new()
        await client.answer(client.prompt(new, "say 1"))
        before = (await client.call("session/list", {}))["sessions"]
        assert [line["sessionId"] for line in before] == [new, old]
        await stage.hub.sessions[old].release()
        await client.call("session/load", {"sessionId": old, **LOAD})
        assert (await client.call("session/list", {}))["sessions"] == before


async def test_a_hub_that_comes_after_does_not_take_the_session_for_open_in_its_agent() -> None:
    memory = Memory()
    async with unused(memory) as (stage, session):
        await until(lambda: session not in stage.hub.sessions)
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        assert (await client.answer(client.prompt(session, "say 2")))["result"] == {"stopReason": "end_turn"}
        assert memory.calls == ["close", "load"]


async def test_a_prompt_that_comes_while_the_agent_closes_the_session_waits_and_is_run() -> None:
    memory = Memory()
    memory.may_close.clear()
    async with unused(memory) as (stage, session):
        await memory.closing.wait()
        client = await stage.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        prompt = client.prompt(session, "say 2")
        await asyncio.sleep(0.05)
        memory.may_close.set()
        assert (await client.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert memory.calls == ["close", "load"]
        assert memory.gate.prompts == ["say 1", "say 2"]


@pytest.mark.parametrize(("loads", "after"), [(False, 0.05), (True, 0.0)])
async def test_a_session_stays_where_its_agent_could_not_bring_it_back_or_the_owner_wants_it_so(
    loads: bool, after: float
) -> None:
    memory = Memory(loads=loads)
    async with unused(memory, after=after) as (stage, session):
        await asyncio.sleep(0.3)
        assert memory.calls == []
        assert stage.hub.sessions[session].process is not None


async def test_a_session_with_a_client_a_turn_or_a_question_stays() -> None:
    memory = Memory()
    async with staged({"one": memory.agent}, release_after=0.05) as stage:
        client = await stage.client().begin()
        followed, running = await client.new(), await client.new()
        client.prompt(running, "wait")
        await memory.gate.waiting.wait()
        other = await stage.client().begin()
        asking = await other.new()
        other.prompt(asking, "ask")
        await other.asked()
        await other.transport.aclose()
        await client.call("_dragoman/hub/detach", {"sessionId": running})
        await asyncio.sleep(0.3)
        assert memory.calls == []
        assert {followed, running, asking} <= set(stage.hub.sessions)
        memory.gate.open.set()


async def test_a_hub_that_is_killed_while_the_agent_closes_a_session_has_it_loaded_by_the_next() -> None:
    memory = Memory()
    memory.may_close.clear()
    async with unused(memory) as (stage, session):
        await until(memory.closing.is_set)
        await stage.crash()
        memory.may_close.set()
        await stage.start()
        client = await stage.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        assert (await client.answer(client.prompt(session, "say 2")))["result"] == {"stopReason": "end_turn"}
        assert memory.calls == ["close", "load"]


async def test_a_release_is_stored_before_the_agent_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that took over in between would take the agent for one that knows the session."""
    memory = Memory()
    async with unused(memory, after=3600.0) as (stage, session):
        live, append, may_store = stage.hub.sessions[session], stage.journal.append, asyncio.Event()

        async def append_late(*words: Any, **more: Any) -> int:
            await may_store.wait()
            return await append(*words, **more)

        monkeypatch.setattr(stage.journal, "append", append_late)
        releasing = asyncio.ensure_future(live.release())
        for _ in range(100):
            await asyncio.sleep(0)
        assert memory.calls == []
        may_store.set()
        await releasing
        assert memory.calls == ["close"]
