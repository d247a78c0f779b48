"""Hubs that are killed while an agent works in a child session: the child goes on, and nothing is doubled."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.errors import JournalBusy
from dragoman_local.journal import Entry, StreamInfo
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.engine.test_child_sessions import OPTIONS, of
from tests.hub.sessions.agents import Gate
from tests.hub.sessions.raw_agents import eventually
from tests.hub.sessions.stage import Slow, staged


def busy_parent(gate: Gate) -> Agent:
    """Works in a child of its own for each prompt, and asks for permission there."""
    agent = Agent("parent")

    @agent.prompt
    async def work(turn: Turn) -> None:
        kid = f"{turn.session.id}-kid"

        async def tell(session: str, **update: Any) -> None:
            await turn.client.notify("session/update", {"sessionId": session, "update": update})

        await tell(turn.session.id, sessionUpdate="subagent_update", sessionId=kid, title="Kid")
        for number in range(20):
            content = {"type": "text", "text": f"{number}"}
            await tell(kid, sessionUpdate="agent_message_chunk", content=content)
            if number == 9:
                gate.waiting.set()
                await gate.open.wait()
        call = {"toolCallId": "t", "title": "Delete it", "kind": "delete"}
        params = {"sessionId": kid, "toolCall": call, "options": OPTIONS}
        answer = await turn.client.call("session/request_permission", params)
        await turn.say(json.dumps(answer))

    return agent


async def test_a_child_goes_on_after_a_crash_of_the_hub(tmp_path: Path) -> None:
    gate = Gate()
    async with staged({"one": lambda: busy_parent(gate)}) as stage:
        client = await stage.client().begin(subagents={})
        session = await client.new(str(tmp_path))
        kid = f"{session}-kid"
        client.prompt(session, "work", key="k")
        await gate.waiting.wait()
        await eventually(lambda: of(client, kid))
        await stage.crash()
        gate.open.set()
        await stage.start()
        again = await stage.client().begin(subagents={})
        await again.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        asked = await again.asked()
        assert asked["params"]["sessionId"] == kid
        await stage.crash()
        await stage.start()
        last = await stage.client().begin(subagents={})
        await last.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        asked = await last.asked()
        assert of(last, kid) == [str(number) for number in range(20)], "each once, in order"
        assert stage.hub.sessions[kid].state.parent == session
        last.allow(asked)
        await eventually(lambda: any("selected" in said for said in last.texts(session=session)))
        streams = {one.stream for one in (await stage.journal.list()).streams}
        assert streams == {session, kid}


async def test_a_child_whose_stream_was_described_before_a_crash_and_never_begun_keeps_its_name(
    tmp_path: Path,
) -> None:
    gate = Gate()
    gate.open.set()
    async with staged({"one": lambda: busy_parent(gate)}) as stage:
        client = await stage.client().begin(subagents={})
        session = await client.new(str(tmp_path))
        kid = f"{session}-kid"
        await stage.journal.describe(kid, agent="one", cwd=str(tmp_path), state="idle")
        client.prompt(session, "work", key="k")
        question = await client.asked()
        assert question["params"]["sessionId"] == kid
        assert of(client, kid) == [str(number) for number in range(20)]
        client.allow(question)
        await eventually(lambda: any("selected" in said for said in client.texts(session=session)))


class LastWord(MemoryJournal):
    """Stores what an agent is to hear, and says so when it may. It writes no listings while it may not."""

    def __init__(self) -> None:
        super().__init__()
        self.is_stored = asyncio.Event()
        self.may_tell = asyncio.Event()
        self.may_tell.set()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        last = await super().append(stream, entries, after=after)
        if any(entry.direction == "to_agent" for entry in entries):
            self.is_stored.set()
            await self.may_tell.wait()
        return last

    async def describe(self, stream: str, **fields: Any) -> StreamInfo:
        if not self.may_tell.is_set():
            raise JournalBusy("another process is using the journal")
        return await super().describe(stream, **fields)


async def test_a_child_whose_listing_could_not_be_written_hears_its_answer_after_a_crash(
    tmp_path: Path,
) -> None:
    gate, journal = Gate(), LastWord()
    async with staged({"one": lambda: busy_parent(gate)}, journal=journal) as stage:
        client = await stage.client().begin(subagents={})
        session = await client.new(str(tmp_path))
        client.prompt(session, "work", key="k")
        await gate.waiting.wait()
        journal.is_stored.clear()
        journal.may_tell.clear()
        gate.open.set()
        client.allow(await client.asked())
        await journal.is_stored.wait()
        await stage.crash()
        journal.may_tell.set()
        await stage.start()
        again = await stage.client().begin(subagents={})
        await again.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        await eventually(lambda: any("selected" in text for text in again.texts(session=session)))


async def test_an_answer_that_is_stored_while_the_hub_stops_is_said_by_the_next_one(tmp_path: Path) -> None:
    """Also between turns, where only the listing says that the agent waits for something."""
    gate, journal = Gate(), LastWord()
    agent = Agent("curious")
    answers: list[Any] = []
    tasks: list[asyncio.Task[None]] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async def ask() -> None:
            await gate.open.wait()
            call = {"toolCallId": "t", "title": "Delete it", "kind": "delete"}
            params = {"sessionId": turn.session.id, "toolCall": call, "options": OPTIONS}
            answers.append(await turn.client.call("session/request_permission", params))

        tasks.append(asyncio.create_task(ask()))

    async with staged({"one": lambda: agent}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, "work", key="k"))
        gate.open.set()
        question = await client.asked()
        journal.is_stored.clear()
        journal.may_tell.clear()
        client.allow(question)
        await journal.is_stored.wait()
        stopping = asyncio.create_task(stage.hub.aclose(keep_agents=True))
        await eventually(lambda: stage.kept["one"].current is None)
        journal.may_tell.set()
        await stopping
        assert not answers
        await stage.start()
        await eventually(lambda: answers)


@pytest.mark.parametrize("seed", range(12))
async def test_a_hub_that_is_killed_at_any_moment_neither_loses_nor_doubles_a_child(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    gate = Gate()
    gate.open.set()
    async with staged({"one": lambda: busy_parent(gate)}, journal=Slow(chance, 6)) as stage:
        client = await stage.client().begin(subagents={})
        session = await client.new(str(tmp_path))
        kid = f"{session}-kid"
        client.prompt(session, "work", key="k")
        await eventually(lambda: stage.hub.sessions[session].state.turn)
        for _ in range(3):
            for _ in range(chance.randint(1, 60)):
                await asyncio.sleep(0)
            await stage.crash()
            await stage.start()
        last = await stage.client().begin(subagents={})
        await last.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        asked = await last.asked()
        assert asked["params"]["sessionId"] == kid
        assert of(last, kid) == [str(number) for number in range(20)], "each once, in order"
        last.allow(asked)
        await eventually(lambda: any("selected" in said for said in last.texts(session=session)))
