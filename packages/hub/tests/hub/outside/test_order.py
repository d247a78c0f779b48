"""Append, then act, in process: nothing of a turn has an effect before the journal says that it is stored.
PST-12 tries the order of system calls, where strace may be used; this holds everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged

pytestmark = pytest.mark.bound(25)


class Held(MemoryJournal):
    """Stores nothing that has `word` in it until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.word = b""
        self.holding = asyncio.Event()
        self.let_go = asyncio.Event()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.word and any(self.word in entry.frame for entry in entries):
            self.word = b""
            self.holding.set()
            await self.let_go.wait()
        return await super().append(stream, entries, after=after)


async def quiet() -> None:
    """Everything that can happen without the journal has happened."""
    for _ in range(200):
        await asyncio.sleep(0)


async def test_no_answer_leaves_before_its_turn_is_stored() -> None:
    journal = Held()
    async with staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        journal.word = b"stopReason"
        turn = client.prompt(session, "say 3")
        await journal.holding.wait()
        await quiet()
        assert not [one for one in client.heard if one.get("id") == turn]
        journal.let_go.set()
        assert (await client.answer(turn))["result"]["stopReason"] == "end_turn"


async def test_no_prompt_reaches_the_agent_before_it_is_stored() -> None:
    journal, gate = Held(), Gate()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        journal.word = b"a word of mine"
        turn = client.prompt(session, "a word of mine")
        await journal.holding.wait()
        await quiet()
        assert gate.prompts == []
        journal.let_go.set()
        await client.answer(turn)
        assert gate.prompts == ["a word of mine"]


async def test_no_answer_of_a_person_reaches_the_agent_before_it_is_stored() -> None:
    journal = Held()
    async with staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        turn = client.prompt(session, "ask")
        asked = await client.asked()
        journal.word = b"optionId"
        client.allow(asked)
        await journal.holding.wait()
        await quiet()
        assert client.texts() == []
        journal.let_go.set()
        await client.answer(turn)
        assert client.texts() == ["yes"]
