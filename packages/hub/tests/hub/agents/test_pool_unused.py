"""An agent that nobody uses is stopped, and not before all that it waits for was said to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.testing.pace import deadline
from dragoman_hub.agents import pool
from dragoman_local.journal import Entry, StreamInfo
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.raw_agents import eventually, raw_stage
from tests.hub.sessions.stage import WITHIN, staged

pytestmark = pytest.mark.bound(25)


async def test_an_agent_that_nobody_uses_is_stopped_and_started_when_somebody_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "LOOK_SECONDS", 0.01)
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        first = stage.kept["one"]
        seat = stage.hub.pool.seats["one"]
        seat.spec = replace(seat.spec, idle=0.0)
        async with deadline(WITHIN):
            while first.lives:
                await client.call("_dragoman/hub/agents")
        seat.spec = replace(seat.spec, idle=600.0)
        assert "result" in await client.answer(client.prompt(session, "hello"))
        assert stage.kept["one"] is not first


async def test_an_agent_that_waits_for_somebodys_answer_outside_of_turns_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "LOOK_SECONDS", 0.01)
    async with raw_stage("one", "other") as (stage, client):
        session = await client.new()
        await client.new(agent="other")
        call = {"toolCallId": "c", "title": "Remove it"}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        stage.agents["one"].ask("p", "session/request_permission", session, toolCall=call, options=options)
        question = await client.asked()
        seats = stage.hub.pool.seats
        processes = {name: seat.process for name, seat in seats.items()}
        for seat in seats.values():
            seat.spec = replace(seat.spec, idle=0.0)
        one, other = processes["one"], processes["other"]
        assert one is not None
        assert other is not None
        await eventually(lambda: other.over)  # both were looked at
        assert not one.over
        client.allow(question, "yes")
        await eventually(lambda: one.over)
        assert stage.agents["one"].answers["p"]["result"]["outcome"]["optionId"] == "yes"


class HeldJournal(MemoryJournal):
    """Neither stores nor tells anything until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on, self.is_held = asyncio.Event(), asyncio.Event()
        self.may_go_on.set()

    async def _wait(self) -> None:
        if not self.may_go_on.is_set():
            self.is_held.set()
        await self.may_go_on.wait()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        await self._wait()
        return await super().append(stream, entries, after=after)

    async def info(self, stream: str) -> StreamInfo | None:
        await self._wait()
        return await super().info(stream)


@pytest.mark.parametrize("work", ["an answer", "a new session", "a session that rests"])
async def test_an_agent_is_not_stopped_before_its_answer_is_stored_or_its_session_known(work: str) -> None:
    journal = HeldJournal()
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    asked = {"toolCall": {"toolCallId": "c", "title": "Remove it"}, "options": options}
    async with raw_stage("one", journal=journal) as (stage, client):
        session, agent = await client.new(), stage.agents["one"]
        if work == "an answer":
            agent.ask("p", "session/request_permission", session, **asked)
            question = await client.asked()
        journal.may_go_on.clear()
        if work == "an answer":
            client.allow(question, "yes")
        elif work == "a new session":
            request = client.ask("session/new", {"cwd": "/tmp", "mcpServers": []})
        else:
            agent.ask("p", "session/request_permission", "unknown", **asked)
        await journal.is_held.wait()
        with pytest.raises(LocalMistake, match="one is at work"):
            await stage.hub.pool.dismiss("one")
        journal.may_go_on.set()
        if work == "a new session":
            assert "result" in await client.answer(request)
        else:
            await eventually(lambda: agent.answers)
        await eventually(lambda: _is_calm(stage.hub.pool.seats["one"]))
        await stage.hub.pool.dismiss("one")


def _is_calm(seat: pool.AgentSlot) -> bool:
    return seat.process is not None and seat.process.is_calm
