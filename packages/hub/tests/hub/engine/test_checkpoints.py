"""A session that is opened from its checkpoint is the session that its whole stream tells of."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman.errors import JournalError
from dragoman.testing.pace import patience
from dragoman_hub.engine import checkpoints
from dragoman_hub.engine.checkpoints import read_session
from dragoman_hub.session.checkpoint import read_checkpoint, state_at, write_checkpoint
from dragoman_hub.session.state import fold, new_state
from dragoman_local.journal import Entry, Journal, MemoryJournal, Page, StoredEntry
from tests.hub.cluster.together import Group, nodes
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged

pytestmark = pytest.mark.bound(25)

LOAD = {"cwd": "/tmp", "mcpServers": []}


class Counting(MemoryJournal):
    """Counts the entries that are read."""

    read = 0

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        async for page in super().replay(stream, after=after, limit=limit):
            self.read += len(page)
            yield page


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 20)
    monkeypatch.setattr(checkpoints, "SPANS", (60, 600))


async def entries(journal: Journal, session: str) -> list[StoredEntry]:
    return [one async for page in journal.replay(session) for one in page]


def known(session: str, stored: list[StoredEntry]) -> bytes:
    """All that is remembered of these entries."""
    return write_checkpoint(fold(new_state(session), stored))


async def test_reading_may_begin_behind_any_entry() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 3"))
        asking = client.prompt(session, "ask")
        client.prompt(session, "say 1")  # waits in the queue
        client.allow(await client.asked())
        await client.answer(asking)
        client.prompt(session, "wait")
        await gate.waiting.wait()
        stored = await entries(stage.journal, session)
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
    assert b'"queued"' in b"".join(one.frame for one in stored)
    for place in range(1, len(stored)):
        checkpoint = read_checkpoint(known(session, stored[:place]))
        assert checkpoint is not None
        state = fold(state_at(session, checkpoint), stored[place:])
        assert write_checkpoint(state) == known(session, stored)


async def told(journal: MemoryJournal, count: int, *, checkpoint_at: int = 0) -> None:
    """A stream of so many entries; at one of them is the checkpoint of those before."""
    made = Entry("note", b'{"hub":"made","agent":"one","cwd":"/tmp"}', 1.0)
    rest = [Entry("note", b'{"hub":"renamed","title":"%d"}' % number, 1.0) for number in range(count - 1)]
    await journal.append("s", [made, *rest])
    if checkpoint_at:
        stored = await entries(journal, "s")
        await journal.delete("s")
        entry = Entry("note", known("s", stored[: checkpoint_at - 1]), 1.0)
        await journal.append("s", [*(one.entry for one in stored[: checkpoint_at - 1]), entry])
        await journal.append("s", [one.entry for one in stored[checkpoint_at - 1 :]])


@pytest.mark.parametrize(("count", "checkpoint_at", "read"), [(200, 190, 60), (700, 150, 660), (200, 0, 260)])
async def test_only_what_is_behind_the_last_checkpoint_is_read(
    count: int, checkpoint_at: int, read: int, often: None
) -> None:
    journal = Counting()
    await told(journal, count, checkpoint_at=checkpoint_at)
    stored = await entries(journal, "s")
    journal.read = 0
    state = (await read_session(journal, "s", len(stored))).state
    assert (state.last, write_checkpoint(state)) == (len(stored), known("s", stored))
    assert journal.read <= read


async def test_a_checkpoint_that_cannot_be_read_is_none(often: None) -> None:
    journal = MemoryJournal()
    await told(journal, 100)
    await journal.append("s", [Entry("note", b'{"hub":"gist","upto":"far"}', 1.0)])
    stored = await entries(journal, "s")
    reading = await read_session(journal, "s", len(stored))
    assert (reading.state.last, reading.checkpoint_at, reading.state.title) == (101, 0, "98")


async def test_a_journal_of_its_own_is_read_once(often: None) -> None:
    journal = Counting()
    await told(journal, 200)
    async with staged({"one": obedient}, journal=journal) as stage:
        journal.read = 0
        await stage.hub.session("s")
        assert journal.read == 200


async def talk(group: Group, turns: int) -> str:
    client = await group["a"].client().begin()
    session = await client.new()
    for _ in range(turns):
        await client.answer(client.prompt(session, "say 2"))
    return session


async def test_a_node_that_takes_a_session_over_begins_with_its_gist(often: None) -> None:
    async with nodes("a", "b", agents={"one": obedient}, lease=patience(0.5)) as group:
        session = await talk(group, 30)
        stored = await entries(group["b"].journal, session)
        written = [found for one in stored if (found := read_checkpoint(one.frame)) is not None]
        assert 3 <= len(written) <= len(stored) // checkpoints.EVERY
        for one in written:
            assert write_checkpoint(state_at(session, one)) == known(session, stored[: one.upto])
        await group.crash(group.owner(session))
        left = next(iter(group.nodes.values()))
        client = await left.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        assert client.texts(session=session) == ["0 ", "1 "] * 30
        assert (await client.answer(client.prompt(session, "say 1")))["result"]
        assert left.hub.sessions[session].state.turns == 31


async def test_a_journal_that_cannot_be_read_costs_a_checkpoint_and_nothing_else(
    often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise JournalError("not now")

    monkeypatch.setattr(checkpoints, "read_session", fail)
    monkeypatch.setattr(checkpoints, "read_from_checkpoint", fail)
    async with nodes("a", agents={"one": obedient}) as group:
        session = await talk(group, 12)
        assert not [one for one in await entries(group["a"].journal, session) if read_checkpoint(one.frame)]
