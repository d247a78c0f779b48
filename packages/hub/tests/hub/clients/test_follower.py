"""Clients that come while something is being stored: they are told it when the session has acted upon it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman_hub.clients import follower
from dragoman_hub.engine.ports import Position
from dragoman_local.journal import Entry
from dragoman_local.journal.contract import PAGE_BYTES
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
    gate = Gate()
    ours: dict[str, Any] = {"client": "the-client", "cursors": True, "events": True}
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


async def test_a_child_is_followed_by_who_follows_its_parent_and_is_there() -> None:
    async with staged({"one": obedient}) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        parent, child = await client.new(), stage.hub.sessions[await other.new()]
        (seat,) = [seat for seat in stage.hub.clients if parent in seat.followers]
        follower = seat.followers[parent]
        follower.follow_child(child, Position(0))
        first = seat.followers[child.id]
        follower.follow_child(child, Position(0))
        assert seat.followers[child.id] is first, "once"
        stage.hub.detach(seat, child)
        stage.hub.detach(seat, follower.session)
        follower.follow_child(child, Position(0))
        assert child.id not in seat.followers, "it follows the parent no more"
        again = stage.hub.attach(seat, follower.session, Position(0))
        await other.call("session/close", {"sessionId": child.id})
        again.follow_child(child, Position(0))
        assert child.id not in seat.followers, "the child is closed"
        seat.closed_event.set()
        again.follow_child(stage.hub.sessions[await other.new()], Position(0))
        assert list(seat.followers) == [parent], "the client has left"


async def test_who_does_not_read_is_told_as_much_as_there_is_room_for() -> None:
    async with staged({"one": obedient}) as stage:
        writer = await stage.client().begin()
        session = await writer.new()
        for _ in range(30):
            await writer.answer(writer.prompt(session, "x" * 200_000))
        slow = await stage.client().begin()
        (seat,) = [seat for seat in stage.hub.clients if session not in seat.followers]
        slow.transport.pause()
        loading = slow.ask("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        await until(lambda: seat.is_full)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert seat.transport.pending < seat.transport.limits.high + 2 * PAGE_BYTES
        slow.transport.resume()
        await slow.answer(loading)
        assert len(slow.texts("user_message_chunk")) == 30
