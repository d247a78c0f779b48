"""Clients that are behind in what they are told, or follow their session no more, still get every answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dragoman_local.journal import Page
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged


class HeldJournal(MemoryJournal):
    """Gives nothing to whoever reads a stream from its beginning, until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.reading = asyncio.Event()

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        if after == 0 and not self.may_read.is_set():
            self.reading.set()
            await self.may_read.wait()
        async for page in super().replay(stream, after=after, limit=limit):
            yield page


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_a_prompt_of_a_client_that_is_still_loading_is_answered_when_the_session_ends(
    method: str,
) -> None:
    journal, gate = HeldJournal(), Gate()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        journal.may_read.clear()
        late = await stage.client().begin()
        load = late.ask("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        await journal.reading.wait()
        waiting = late.prompt(session, "say 2")
        while not stage.hub.sessions[session].state.queue:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        closing = client.ask(method, {"sessionId": session})
        gate.open.set()
        assert "result" in await client.answer(closing)
        assert "result" in await client.answer(running)
        journal.may_read.set()
        assert (await late.answer(waiting))["result"] == {"stopReason": "cancelled"}
        answer = await late.answer(load)
        assert "result" in answer or "error" in answer


async def test_a_prompt_of_a_client_that_follows_the_session_no_more_is_answered() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running, waiting = client.prompt(session, "wait"), client.prompt(session, "say 2")
        await gate.waiting.wait()
        await client.call("_dragoman/hub/detach", {"sessionId": session})
        told = len(client.heard)
        gate.open.set()
        assert (await client.answer(running))["result"] == {"stopReason": "end_turn"}
        assert (await client.answer(waiting))["result"] == {"stopReason": "end_turn"}
        assert [message["id"] for message in client.heard[told:]] == [running, waiting]


async def test_every_request_that_has_sent_a_key_is_answered_also_on_one_connection() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        first = client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        others = [client.prompt(session, "wait", key="k") for _ in range(3)]
        await client.call("_dragoman/hub/inbox")  # behind them
        gate.open.set()
        answers = [await client.answer(request) for request in (first, *others)]
        assert [answer["result"] for answer in answers] == [{"stopReason": "end_turn"}] * 4
        assert gate.prompts == ["wait"]


async def test_a_client_that_is_behind_and_detaches_hears_how_its_prompt_ended() -> None:
    journal, gate = HeldJournal(), Gate()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        journal.may_read.clear()
        load = client.ask("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        await journal.reading.wait()
        gate.open.set()
        live = stage.hub.sessions[session]
        while live.state.turn is not None:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        await live.wait_until_stored()
        await client.call("_dragoman/hub/detach", {"sessionId": session})
        assert (await client.answer(running))["result"] == {"stopReason": "end_turn"}
        assert "error" in await client.answer(load)
        journal.may_read.set()
