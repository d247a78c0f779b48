"""Leases and owners: who is there, who has lost what, and who may take it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman.errors import Elsewhere, JournalError, LocalMistake
from dragoman.testing.pace import patience
from dragoman_hub.agents.channel import LeaseTerm
from dragoman_hub.cluster import membership
from dragoman_hub.cluster.cluster import heir, place
from dragoman_hub.cluster.membership import Members, Node, new_life
from dragoman_hub.cluster.owners import Owners
from dragoman_local.journal.shared_state import RegisterValue
from tests.hub.cluster.together import LONGEST_LEASE
from tests.journal.shared_state_memory import MemoryNode, SharedMemory

LEASE = 0.4

pytestmark = pytest.mark.bound(20)


class One:
    """A node without a hub."""

    def __init__(self, shared: SharedMemory, name: str, *, home: str = "", lease: float = LEASE) -> None:
        self.lease = lease
        self.network: MemoryNode = shared.node()
        self.heard: list[str] = []
        self.news = asyncio.Event()
        self._acts = 0
        node = Node(name=name, life=new_life(), home=home or name)
        self.members = Members(
            self.network,
            node,
            lease=lease,
            describe=lambda node: node,
            on_renewed=self._renewed,
            on_lost=self._lost,
            on_gone=lambda name: self._hear(f"gone {name}"),
            on_came=lambda name: self._hear(f"came {name}"),
        )
        self.owners = Owners(self.network, self.members)

    async def _lost(self) -> None:
        self._hear("lost")

    def _hear(self, what: str) -> None:
        self.heard.append(what)
        self.news.set()

    def _renewed(self, lasting: LeaseTerm) -> None:
        self._acts += 1
        self.news.set()

    async def renewed(self, times: int) -> None:
        """Until it has renewed its lease so often."""
        wanted = self._acts + times
        while self._acts < wanted:
            self.members.hurry()
            self.news.clear()
            await self.news.wait()

    async def until(self, what: str) -> None:
        while what not in self.heard:
            self.news.clear()
            await self.news.wait()


@asynccontextmanager
async def joined(*names: str, lease: float = LEASE) -> AsyncIterator[tuple[SharedMemory, list[One]]]:
    lease = min(patience(lease), max(lease, LONGEST_LEASE))  # one for all
    shared = SharedMemory()
    found = [One(shared, name, lease=lease) for name in names]
    for one in found:
        await one.owners.start()
        await one.members.join()
    try:
        yield shared, found
    finally:
        for one in found:
            await one.members.aclose()
            await one.owners.aclose()


async def test_nodes_see_each_other_come_and_leave() -> None:
    async with joined("a", "b") as (_, (a, b)):
        await a.until("came b")
        await b.members.leave()
        await a.until("gone b")
        assert [node.name for node in a.members.alive()] == ["a"]


async def test_a_node_that_starts_while_nobody_can_write_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = One(SharedMemory(), "a")
    await one.owners.start()
    create, tries = one.network.create, 0

    async def reluctant(key: str, value: bytes) -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise JournalError("no leader")
        return await create(key, value)

    monkeypatch.setattr(one.network, "create", reluctant)
    assert not await one.members.join()
    assert one.members.remaining > 0
    await one.members.aclose()
    monkeypatch.setattr(membership, "JOIN_SECONDS", 0.0)
    tries = 0
    two = One(SharedMemory(), "b")
    monkeypatch.setattr(two.network, "create", reluctant)
    with pytest.raises(JournalError, match="no leader"):
        await two.members.join()
    await two.members.aclose()
    await one.owners.aclose()


async def test_a_node_that_is_cut_off_is_declared_dead_after_it_stopped_acting() -> None:
    async with joined("a", "b") as (_, (a, b)):
        await a.until("came b")
        b.network.cut = True
        await a.until("gone b")
        assert b.members.remaining == 0, "its time to act was over before anybody took it for dead"
        b.network.cut = False
        await b.until("lost")
        await a.until("came b")


async def test_a_short_cut_costs_nobody_its_lease() -> None:
    async with joined("a", "b", lease=8.0) as (_, (a, b)):
        await a.until("came b")
        b.network.cut = True
        b.members.hurry()
        await asyncio.sleep(0.1)
        b.network.cut = False
        await b.renewed(2)
        assert "lost" not in b.heard


async def test_a_node_that_was_cut_off_itself_declares_nobody_dead_before_it_has_listened() -> None:
    async with joined("a", "b") as (_, (a, b)):
        await a.until("came b")
        a.network.cut = True
        b.network.cut = True
        await asyncio.sleep(a.lease * 1.5)
        a.network.cut = b.network.cut = False
        await a.renewed(2)
        await b.renewed(2)
        assert "gone b" not in a.heard
        assert "gone a" not in b.heard


async def test_two_folders_cannot_have_the_same_name_and_one_folder_gets_its_name_back() -> None:
    async with joined("a") as (shared, (a,)):
        with pytest.raises(LocalMistake, match="choose another name"):
            await One(shared, "a", home="elsewhere").members.join()
        again = One(shared, "a")
        assert await again.members.join() is True
        await a.until("lost")
        await again.members.aclose()


async def test_a_session_has_one_owner_and_another_when_its_node_is_dead() -> None:
    async with joined("a", "b") as (_, (a, b)):
        await a.until("came b")
        claim = await b.owners.claim("s")
        assert not claim.is_taken_over
        with pytest.raises(Elsewhere) as error:
            await a.owners.claim("s")
        assert error.value.node == "b"
        b.network.cut = True
        await a.until("gone b")
        assert a.owners.orphans() == ["s"]
        assert (await a.owners.claim("s")).is_taken_over
        b.network.cut = False
        await b.until("lost")
        await b.owners.release(claim)
        assert a.owners.where("s") == "a", "a late release frees nobody else's session"


async def test_no_session_is_taken_from_a_node_of_whose_return_nobody_has_heard_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with joined("a", "b") as (_, (a, b)):
        await a.until("came b")
        b.network.cut = True
        await a.until("gone b")
        late: list[tuple[str, RegisterValue | None]] = []
        with monkeypatch.context() as patches:
            patches.setattr(a.network, "on_change", lambda *change: late.append(change))
            b.network.cut = False
            await b.until("lost")
            await b.renewed(1)
            await b.owners.claim("s")
            claim = asyncio.create_task(a.owners.claim("s"))
            await a.renewed(1)
            assert not claim.done()
        for key, value in late:
            a.network.on_change(key, value)
        with pytest.raises(Elsewhere):
            await claim
        assert a.members.find("b") is not None


async def test_only_one_of_many_takes_a_session() -> None:
    async with joined("a", "b", "c") as (_, found):
        for one in found:
            for other in found:
                if other is not one:
                    await one.until(f"came {other.members.node.name}")
        ends = await asyncio.gather(*(one.owners.claim("s") for one in found), return_exceptions=True)
        assert sum(not isinstance(end, BaseException) for end in ends) == 1
        assert sum(isinstance(end, Elsewhere) for end in ends) == 2


async def test_a_released_session_may_be_anybodys() -> None:
    async with joined("a", "b") as (_, (a, b)):
        await a.owners.release(await a.owners.claim("s"))
        assert not (await b.owners.claim("s")).is_taken_over


def node(name: str, **more: Any) -> Node:
    return Node(name=name, life="1", home=name, agents=("one",), **more)


def test_sessions_are_placed_where_little_is_going_on() -> None:
    nodes = [node("a", busy=3), node("b", busy=1, sessions=9), node("c", busy=1)]
    found = place(nodes, agent="one", cwd="/w", home="a")
    assert found is not None
    assert found.name == "c"


def test_labels_agents_folders_and_drain_decide_who_can() -> None:
    nodes = [node("a", state="draining"), node("b", labels=("gpu",)), node("c", roots=("/code",))]

    def placed(agent: str = "one", cwd: str = "/elsewhere", needs: tuple[str, ...] = ()) -> str | None:
        found = place(nodes, agent=agent, cwd=cwd, needs=needs)
        return None if found is None else found.name

    assert placed(needs=("gpu",)) == "b"
    assert placed(needs=("tpu",)) is None
    assert placed(agent="other") is None
    assert placed(cwd="/code/app") in ("b", "c")
    assert placed(cwd="/code2") == "b", "/code2 does not lie below /code"


def test_all_nodes_name_the_same_heir_and_heirs_are_spread() -> None:
    nodes = [node("a"), node("b"), node("c")]
    heirs = [heir(nodes, f"s{number}") for number in range(60)]
    assert heirs == [heir(list(reversed(nodes)), f"s{number}") for number in range(60)]
    assert {heirs.count(name) > 5 for name in "abc"} == {True}
    assert heir(nodes, "s", able=["b"]) == "b"
