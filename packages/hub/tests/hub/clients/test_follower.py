"""Clients that come while something is being stored: they are told it when the session has acted upon it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dragoman_hub.clients import follower
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged
from tests.runtime.raw import until


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


async def test_whoever_comes_back_and_asks_again_has_its_answer_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follower, "AGAIN_SECONDS", 3600.0)
    gate, ours = Gate(), {"client": "the-client", "cursors": True, "events": True}
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(**ours).begin()
        session = await client.new()
        client.prompt(session, "wait", key="k")
        started = await client.until(lambda one: one.get("params", {}).get("event") == "turn_started")
        cursor = started["params"]["_meta"]["dragoman"]["cursor"]
        await client.transport.aclose()
        gate.open.set()
        await until(lambda: stage.hub.sessions[session].state.turn is None)
        again = await stage.client(**ours).begin()
        params = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        await again.call("session/resume", params, after=cursor, prompts=["k"])
        answer = await again.answer(again.prompt(session, "wait", key="k"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert gate.prompts == ["wait"]
