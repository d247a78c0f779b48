"""A hub that is closed in the middle of turns: what it stored last is what the next hub finds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman_local.journal import StreamInfo
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Held, read_late, staged


class SlowJournal(MemoryJournal):
    """Is slow to store, once `slow` is set, and to describe a stream."""

    slow = False

    async def append(self, stream: str, entries: Any, *, after: int | None = None) -> int:
        if self.slow:
            await pass_turns(50)
        return await super().append(stream, entries, after=after)

    async def describe(self, stream: str, **fields: Any) -> StreamInfo:
        if self.slow:
            await pass_turns(10)
        return await super().describe(stream, **fields)


async def pass_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def end(held: Held) -> None:
    """As the host of a real agent does: it says that the agent has ended before it goes."""
    held.kept.lives = False
    held.flow()


async def test_the_state_of_a_turn_that_was_cut_short_is_stored_before_the_hub_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Held, "aclose", end)
    journal = SlowJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "ask")
        await client.asked()
        await pass_turns(100)
        journal.slow = True
        await stage.hub.aclose()
        info = await journal.info(session)
        assert info is not None
        assert info.state == "failed"


@pytest.mark.parametrize("listed", ["closed", "archived", "running"])
async def test_a_turn_goes_on_although_the_listing_is_behind(listed: str) -> None:
    """A session was closed and opened again, and its hub ended before it had described that."""
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        await stage.crash()
        await stage.journal.describe(session, state=listed)
        await stage.start()
        again = await stage.client().begin()
        prompt = again.prompt(session, "wait", key="k")
        gate.open.set()
        assert (await again.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert gate.prompts == ["wait"]


async def test_an_answer_that_comes_while_its_session_is_opened_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The listing is behind, so the session is opened by its client: meanwhile its agent ends the turn."""
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        await stage.crash()
        await stage.journal.describe(session, state="closed")
        await stage.start()
        read_late(stage.journal, monkeypatch, gate.open.set)
        again = await stage.client().begin()
        prompt = again.prompt(session, "wait", key="k")
        assert (await again.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert gate.prompts == ["wait"]
