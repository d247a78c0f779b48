"""A session that is opened from its gist is the session that its whole stream tells of."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman.errors import JournalError
from dragoman.hub import gists
from dragoman.hub.gists import recalled
from dragoman.hub.recall import Memory, read_gist
from dragoman.journal import Entry, Journal, MemoryJournal, Page, Stored
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
    monkeypatch.setattr(gists, "EVERY", 20)
    monkeypatch.setattr(gists, "SPANS", (60, 600))


async def entries(journal: Journal, session: str) -> list[Stored]:
    return [one async for page in journal.replay(session) for one in page]


def known(session: str, stored: list[Stored]) -> bytes:
    """All that is remembered of these entries."""
    memory = Memory(session)
    memory.see(stored)
    return memory.gist(len(stored))


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
        gist = read_gist(known(session, stored[:place]))
        assert gist is not None
        memory = Memory.of(session, gist)
        memory.see(stored[place:])
        assert memory.gist(len(stored)) == known(session, stored)


async def told(journal: MemoryJournal, count: int, *, gist_at: int = 0) -> None:
    """A stream of so many entries; at one of them is the gist of those before."""
    made = Entry("note", b'{"hub":"made","agent":"one","cwd":"/tmp"}', 1.0)
    rest = [Entry("note", b'{"hub":"renamed","title":"%d"}' % number, 1.0) for number in range(count - 1)]
    await journal.append("s", [made, *rest])
    if gist_at:
        stored = await entries(journal, "s")
        await journal.delete("s")
        gist = Entry("note", known("s", stored[: gist_at - 1]), 1.0)
        await journal.append("s", [*(one.entry for one in stored[: gist_at - 1]), gist])
        await journal.append("s", [one.entry for one in stored[gist_at - 1 :]])


@pytest.mark.parametrize(("count", "gist_at", "read"), [(200, 190, 60), (700, 150, 660), (200, 0, 260)])
async def test_only_what_is_behind_the_last_gist_is_read(
    count: int, gist_at: int, read: int, often: None
) -> None:
    journal = Counting()
    await told(journal, count, gist_at=gist_at)
    stored = await entries(journal, "s")
    journal.read = 0
    memory, last, _ = await recalled(journal, "s", len(stored))
    assert (last, memory.gist(last)) == (len(stored), known("s", stored))
    assert journal.read <= read


async def test_a_gist_that_cannot_be_read_is_none(often: None) -> None:
    journal = MemoryJournal()
    await told(journal, 100)
    await journal.append("s", [Entry("note", b'{"hub":"gist","upto":"far"}', 1.0)])
    stored = await entries(journal, "s")
    memory, last, gist_at = await recalled(journal, "s", len(stored))
    assert (last, gist_at, memory.title) == (101, 0, "98")


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
    async with nodes("a", "b", agents={"one": obedient}, lease=0.5) as group:
        session = await talk(group, 30)
        stored = await entries(group["b"].journal, session)
        written = [gist for one in stored if (gist := read_gist(one.frame)) is not None]
        assert 3 <= len(written) <= len(stored) // gists.EVERY
        for gist in written:
            assert Memory.of(session, gist).gist(gist.upto) == known(session, stored[: gist.upto])
        await group.crash(group.owner(session))
        left = next(iter(group.nodes.values()))
        client = await left.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        assert client.texts(session=session) == ["0 ", "1 "] * 30
        assert (await client.answer(client.prompt(session, "say 1")))["result"]
        memory = left.hub.sessions[session].memory
        assert memory.turns == 31


async def test_a_journal_that_cannot_be_read_costs_a_gist_and_nothing_else(
    often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise JournalError("not now")

    monkeypatch.setattr(gists, "recalled", fail)
    monkeypatch.setattr(gists, "recalled_from", fail)
    async with nodes("a", agents={"one": obedient}) as group:
        session = await talk(group, 12)
        assert not [one for one in await entries(group["a"].journal, session) if read_gist(one.frame)]
