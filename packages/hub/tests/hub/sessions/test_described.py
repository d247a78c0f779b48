"""What listings say of a session: the latest, though the journal is slow, and written no more than needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.errors import JournalError
from dragoman_hub.hub import Hub
from dragoman_hub.session.state import LONGEST_TITLE
from dragoman_local.journal import Entry, Journal, StreamInfo
from dragoman_local.journal.entry_runs import EntryBatch
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


class Held:
    """Descriptions wait until they are let go; one of `refused` fails."""

    def __init__(self, journal: Journal) -> None:
        self.written: list[dict[str, Any]] = []
        self.go = asyncio.Event()
        self.refused: list[str] = []
        self._describe = journal.describe

    async def __call__(self, stream: str, **fields: Any) -> StreamInfo:
        self.written.append(fields)
        await self.go.wait()
        if fields.get("title") in self.refused:
            raise JournalError("the disk is full")
        return await self._describe(stream, **fields)


async def settled(hub: Hub) -> None:
    while hub.pending_descriptions:  # noqa: ASYNC110 -- nothing tells of it
        await asyncio.sleep(0.01)


async def test_what_changes_while_the_journal_writes_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        hub, session = stage.hub, stage.hub.sessions[await client.new()]
        held = Held(stage.journal)
        monkeypatch.setattr(stage.journal, "describe", held)
        for number in range(5):
            hub.describe(session, title=f"title {number}", state="running" if number % 2 else "idle")
            await asyncio.sleep(0)
        held.go.set()
        await settled(hub)
        assert [one["title"] for one in held.written] == ["title 0", "title 4"]
        info = await stage.journal.info(session.stream)
        assert info is not None
        assert (info.title, info.state) == ("title 4", "idle")


async def test_a_description_that_fails_does_not_take_the_next_one_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        hub, session = stage.hub, stage.hub.sessions[await client.new()]
        held = Held(stage.journal)
        held.refused = ["first"]
        monkeypatch.setattr(stage.journal, "describe", held)
        hub.describe(session, title="first")
        await asyncio.sleep(0)
        hub.describe(session, title="second")
        held.go.set()
        await settled(hub)
        info = await stage.journal.info(session.stream)
        assert info is not None
        assert info.title == "second"


async def test_a_turn_writes_nothing_but_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write of its own would be a commit that waits for the disk."""
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = stage.hub.sessions[await client.new()]
        held = Held(stage.journal)
        monkeypatch.setattr(stage.journal, "describe", held)
        told: list[str] = []
        append = stage.journal.append

        async def see(stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
            told.append(entries.state if isinstance(entries, EntryBatch) else "")
            return await append(stream, entries, after=after)

        monkeypatch.setattr(stage.journal, "append", see)
        await client.answer(client.prompt(session.id, "hi"))
        while session.log.state != "idle":  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0.01)
        assert held.written == []
        assert [state for state in told if state] == ["running", "idle"]
        assert session.listed_state == "idle"


async def test_a_session_that_is_closed_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        hub, session = stage.hub, stage.hub.sessions[await client.new()]
        held = Held(stage.journal)
        monkeypatch.setattr(stage.journal, "describe", held)
        hub.describe(session, state="running")
        await asyncio.sleep(0)
        hub.describe(session, state="idle")
        closing = asyncio.get_running_loop().create_task(session.close())
        while len(held.written) < 2:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0.01)
        held.go.set()
        await closing
        await settled(hub)
        info = await stage.journal.info(session.stream)
        assert info is not None
        assert info.state == "closed"


async def test_a_title_of_an_agent_is_no_longer_than_a_list_can_bear() -> None:
    agent = Agent("one")

    @agent.prompt
    async def name_it(turn: Turn) -> None:
        await turn.title("long " * 200_000)

    async with staged({"one": lambda: agent}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "go"))
        (listed,) = (await client.call("_dragoman/hub/sessions"))["sessions"]
        assert listed["title"] == ("long " * 200)[:LONGEST_TITLE]
