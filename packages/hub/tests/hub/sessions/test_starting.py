"""A prompt whose agent is still being started: cancelled at once, and ended once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.errors import SpawnFailed
from dragoman_hub.agents.channel import AgentChannel
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Stage, Talker, staged
from tests.runtime.raw import until


class Door:
    """Where starts of an agent wait."""

    def __init__(self) -> None:
        self.knocked = asyncio.Event()
        self.open = asyncio.Event()


def hold_starts(stage: Stage, door: Door) -> None:
    """From now on the agent starts when the door is open."""
    seat = stage.hub.pool.seats["one"]
    opens: Callable[[], Awaitable[AgentChannel]] = seat.spec.open

    async def late() -> AgentChannel:
        door.knocked.set()
        await door.open.wait()
        return await opens()

    seat.spec = replace(seat.spec, open=late)


async def begun(stage: Stage) -> tuple[Talker, str]:
    """A client, and a session whose agent has died since."""
    client = await stage.client().begin()
    session = await client.new()
    await stage.end_agent("one")
    return client, session


@pytest.mark.parametrize("way", ["session/cancel", "$/cancel_request"])
async def test_a_cancel_ends_a_prompt_whose_agent_is_being_started_and_the_start_goes_on(way: str) -> None:
    gate, door = Gate(), Door()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client, session = await begun(stage)
        hold_starts(stage, door)
        first = client.prompt(session, "say 1")
        await door.knocked.wait()
        params = {"sessionId": session} if way == "session/cancel" else {"requestId": first}
        client.say({"method": way, "params": params})
        assert (await client.answer(first))["result"] == {"stopReason": "cancelled"}
        second = client.prompt(session, "say 2")
        assert not door.open.is_set()  # the agent has not been started until now
        door.open.set()
        assert (await client.answer(second))["result"]["stopReason"] == "end_turn"
        assert stage.hub.pool.seats["one"].starts == 2
    assert [words.splitlines()[-1] for words in gate.prompts] == ["say 2"]


async def test_a_session_can_be_closed_while_its_agent_is_being_started() -> None:
    door = Door()
    async with staged({"one": obedient}) as stage:
        client, session = await begun(stage)
        hold_starts(stage, door)
        first = client.prompt(session, "say 1")
        await door.knocked.wait()
        await client.call("session/close", {"sessionId": session})
        assert (await client.answer(first))["result"] == {"stopReason": "cancelled"}
        door.open.set()
        process = await stage.hub.pool.ensure_process("one")
        assert not process.sessions
        assert session not in stage.hub.sessions


class HeldJournal(MemoryJournal):
    """Holds the end of a turn back until it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.free = asyncio.Event()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if any(b'"turn_ended"' in entry.frame for entry in entries):
            self.reached.set()
            await self.free.wait()
        return await super().append(stream, entries, after=after)


async def test_a_turn_ends_once_although_it_is_cancelled_while_its_end_is_being_stored() -> None:
    journal = HeldJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        client, session = await begun(stage)
        seat = stage.hub.pool.seats["one"]

        async def missing() -> AgentChannel:
            raise SpawnFailed("cannot start it")

        seat.spec = replace(seat.spec, open=missing)
        request = client.prompt(session, "say 1")
        await journal.reached.wait()
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        await client.call("_dragoman/hub/agents")  # what was said before it has been heard
        journal.free.set()
        assert "cannot start it" in (await client.answer(request))["error"]["message"]
        await client.call("session/set_title", {"sessionId": session, "title": "x"})
        ends = [one for one in await _notes(journal, session) if one["hub"] == "turn_ended"]
    assert len(ends) == 1


async def test_a_prompt_that_is_sent_again_while_it_is_being_withdrawn_is_not_begun_anew() -> None:
    gate, journal = Gate(), HeldJournal()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        first = client.prompt(session, "say 1", key="key-of-a-prompt")
        client.say({"method": "$/cancel_request", "params": {"requestId": first}})
        await journal.reached.wait()
        again = client.prompt(session, "say 1", key="key-of-a-prompt")
        await client.call("_dragoman/hub/agents")  # what was said before it has been heard
        journal.free.set()
        gate.open.set()
        assert (await client.answer(again))["result"] == {"stopReason": "cancelled"}
        ends = [one for one in await _notes(journal, session) if one.get("key") == "key-of-a-prompt"]
        assert [one["hub"] for one in ends] == ["queued", "withdrawn", "turn_ended"]
    assert gate.prompts == ["wait"]


async def _notes(journal: MemoryJournal, session: str) -> list[dict[str, Any]]:
    return [
        json.loads(one.frame)
        async for page in journal.replay(session)
        for one in page
        if one.direction == "note"
    ]


class CountingJournal(MemoryJournal):
    """Remembers what was appended together."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[bytes] = []

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self.batches.append(b"\n".join(entry.frame for entry in entries))
        return await super().append(stream, entries, after=after)


async def test_a_prompt_and_its_way_to_the_agent_are_stored_together() -> None:
    gate, journal = Gate(), CountingJournal()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        journal.batches.clear()
        await client.answer(client.prompt(session, "say 2"))
        assert b'"session/prompt"' in next(batch for batch in journal.batches if b'"taken"' in batch)
        assert sum(b'"taken"' in batch for batch in journal.batches) == 1


async def test_a_prompt_is_stored_although_its_folder_takes_long_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, door, journal = Gate(), Door(), CountingJournal()

    async def slow_begin(*_: object, **__: object) -> str:
        door.knocked.set()
        await door.open.wait()
        return ""

    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        monkeypatch.setattr(stage.hub.changes, "begin", slow_begin)
        prompt = client.prompt(session, "say 1")
        await door.knocked.wait()
        await until(lambda: any(b'"taken"' in batch for batch in journal.batches))
        assert gate.prompts == []
        door.open.set()
        assert (await client.answer(prompt))["result"] == {"stopReason": "end_turn"}


async def test_a_prompt_for_which_there_is_no_memory_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()

        async def no_memory(*_: object, **__: object) -> str:
            raise MemoryError

        with monkeypatch.context() as patched:
            patched.setattr(stage.hub.changes, "begin", no_memory)
            failed = await client.answer(client.prompt(session, "say 1"))
        assert "too little memory" in failed["error"]["message"]
        with monkeypatch.context() as patched:
            live = stage.hub.sessions[session]
            patched.setattr(type(live), "_on_ready", lambda *_: no_memory().send(None))
            failed = await client.answer(client.prompt(session, "say 1"))
        assert "too little memory" in failed["error"]["message"]
        assert (await client.answer(client.prompt(session, "say 1")))["result"] == {"stopReason": "end_turn"}


async def test_an_agent_to_which_a_frame_cannot_be_given_ends_and_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        process = await stage.hub.pool.ensure_process("one")

        def no_memory(*_: object, **__: object) -> None:
            raise MemoryError

        monkeypatch.setattr(process.channel, "write", no_memory)
        failed = await client.answer(client.prompt(session, "say 1"))
        assert "the turn was cut short" in failed["error"]["message"]
        assert (await client.answer(client.prompt(session, "say 1")))["result"] == {"stopReason": "end_turn"}
        assert stage.hub.pool.seats["one"].starts == 2
