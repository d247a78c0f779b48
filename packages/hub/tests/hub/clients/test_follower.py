"""Clients that come while something is being stored: they are told it when the session has acted upon it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


class LateJournal(MemoryJournal):
    """Stores at once, and says so when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_free = asyncio.Event()
        self.is_free.set()
        self.held = asyncio.Event()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        last = await super().append(stream, entries, after=after)
        if any(b"session/request_permission" in entry.frame for entry in entries):
            self.held.set()
            await self.is_free.wait()
        return last


async def test_a_question_that_is_stored_while_a_client_comes_is_asked_of_it() -> None:
    journal = LateJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        first = await stage.client().begin()
        session = await first.new()
        journal.is_free.clear()
        turn = first.prompt(session, "ask")
        await journal.held.wait()
        late = await stage.client().begin()
        await late.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        journal.is_free.set()
        late.allow(await late.asked())
        await first.answer(turn)
        assert first.texts() == ["yes"]
