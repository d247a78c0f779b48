"""A cluster whose nodes are lost: two real hubs on a real server, and what must follow.

What everybody wrote down is judged by the checker each time, beside what the test itself asks for. A lease is
short here; on a busy machine one may run out by itself, which costs a turn and nothing else: no test demands
that a turn of a struck session ends well.

`make test` runs the first two; a pause past the lease and kills in turn are then those of the simulation
(`tests/hub/simulate/test_starved.py`, `test_simulate.py`), which has the same code in virtual time.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from dragoman.testing.pace import deadline
from dragoman_hub.nats import open_nats
from dragoman_local.journal.shared_state import RegisterValue
from tests.cluster.checker import check, gathered, read_agents
from tests.cluster.checker_clients import position
from tests.cluster.digest import Digest, digest
from tests.cluster.node import Node
from tests.cluster.person import Person
from tests.cluster.records import Blow, Ended, Storm, Told, now
from tests.cluster.together import Cluster, running_cluster

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.bound(150),
    pytest.mark.timeout(200),
]

LEASE = 6.0
"""Seconds; of this, a node that is not heard of may act for seven tenths."""

WITHIN = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    folder = tmp_path_factory.mktemp("scl")
    (folder / "work").mkdir()
    more = f"[cluster]\nlease = {LEASE}\n"
    async with running_cluster(folder, hubs=2, servers=1, apart=False, more=more) as made:
        yield made


class Watched:
    """People at a cluster, and the judgement over what they saw."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.people: list[Person] = []
        self.sessions: list[str] = []
        self.blows: list[Blow] = []
        self._wall = time.time() - now()

    async def person(self, *nodes: Node) -> Person:
        """Who comes to the first of these, and goes on to the next if that is lost."""
        urls = [node.url for node in nodes]
        name = f"p{len(self.people)}-{secrets.token_hex(3)}"
        person = Person(name, urls, self.cluster.token, random.Random(7))
        self.people.append(person)
        await person.begin()
        return person

    async def session(self) -> tuple[str, Node, Node]:
        """A new session, the node that has it, and the other one."""
        maker = await self.person(self.cluster.nodes[0], self.cluster.nodes[1])
        session = await maker.make(str(self.cluster.folder / "work"))
        self.sessions.append(session)
        name = await owner_of(self.cluster, session)
        owner, other = sorted(self.cluster.nodes, key=lambda node: node.name != name)
        return session, owner, other

    def blow(self, how: str, node: Node) -> None:
        self.blows.append(Blow(t=now(), how=how, target=f"hub-{node.name}"))

    def answered(self) -> list[Ended]:
        return [line for person in self.people for line in person.lines if isinstance(line, Ended)]

    async def answer_more(self, count: int) -> None:
        """Until so many further prompts have their answers."""
        wanted = len(self.answered()) + count

        def is_enough() -> bool:
            assert not self.cluster.fallen(), "a node ended by itself"
            return len(self.answered()) >= wanted

        await until(is_enough)

    async def judge(self) -> Storm:
        """Nothing may be found. Who has not been told everything yet is waited for."""
        async with self.cluster.journal() as journal:
            streams = await gathered(journal, self.sessions)
        ends = {name: last_end(digest(name, stream)) for name, stream in streams.items()}
        for person in self.people:
            for session in list(person.cursors):
                await told_up_to(person, session, ends[session])
        storm = Storm(
            sessions=streams,
            clients={person.name: person.lines for person in self.people},
            agents=read_agents(self.cluster.nodes[0].notes),
            blows=self.blows,
            wall=self._wall,
            calm=0.0,
        )
        assert check(storm) == []
        return storm


@asynccontextmanager
async def watched(cluster: Cluster) -> AsyncIterator[Watched]:
    made = Watched(cluster)
    try:
        yield made
    finally:
        await asyncio.gather(*(person.aclose() for person in made.people))


async def owner_of(cluster: Cluster, session: str) -> str:
    owners: dict[str, str] = {}

    def seen(key: str, held: RegisterValue | None) -> None:
        if held is not None:
            owned = json.loads(held.value)
            owners[owned["session"]] = owned["node"]

    async with open_nats(cluster.address) as place:
        await (await place.register.watch("own", seen)).aclose()
    return owners[session]


def last_end(made: Digest) -> int:
    """The last entry that everybody is told of."""
    return max([end.sequence for ends in made.ends.values() for end in ends], default=0)


async def told_up_to(person: Person, session: str, sequence: int) -> None:
    await until(lambda: position(person.cursors[session])[0] >= sequence)


async def until(true: Callable[[], bool]) -> None:
    async with deadline(WITHIN):
        while not true():  # noqa: ASYNC110 -- many things can make it true
            await asyncio.sleep(0.02)


def updates_in(person: Person, session: str) -> list[str]:
    lines = [line for line in person.lines if isinstance(line, Told) and line.session == session]
    return [line.text for line in lines if line.kind == "update"]


async def ended_well(person: Person, session: str, **order: Any) -> None:
    """Prompt until a turn ends well: a lease may run out on a busy machine, and that costs a turn."""
    for _ in range(5):
        if await person.prompt(session, order) == "end_turn":
            return
    raise AssertionError("no turn ends well")


async def history(watched: Watched, node: Node, session: str) -> list[str]:
    """The updates that somebody new is told who follows the session from its beginning, at this node."""
    async with watched.cluster.journal() as journal:
        made = digest(session, (await gathered(journal, [session]))[session])
    person = await watched.person(node)
    await person.follow(session, "")
    await told_up_to(person, session, last_end(made))
    return updates_in(person, session)


async def test_scl_01_a_client_leaves_one_node_and_finds_its_whole_session_at_another(
    cluster: Cluster,
) -> None:
    async with watched(cluster) as here:
        session, owner, other = await here.session()
        person = await here.person(owner)
        await person.follow(session, "")
        for _ in range(3):
            await ended_well(person, session, updates=5, gap=0)
        told = updates_in(person, session)
        await person.depart()
        assert len(told) >= 15
        assert await history(here, other, session) == told
        await here.judge()


async def test_scl_02_a_node_is_killed_in_mid_turn_and_its_client_goes_on_at_another(
    cluster: Cluster,
) -> None:
    async with watched(cluster) as here:
        session, owner, other = await here.session()
        person = await here.person(owner, other)
        await person.follow(session, "")
        await ended_well(person, session, updates=5, gap=0)
        turn = asyncio.ensure_future(person.prompt(session, {"updates": 2000, "gap": 0.02}))
        await until(lambda: len(updates_in(person, session)) > 20)
        here.blow("kill", owner)
        await owner.end(signal.SIGKILL)
        seen = updates_in(person, session)
        async with deadline(WITHIN):
            outcome = await turn
        assert outcome.startswith("error: the turn was cut short"), outcome
        told = await history(here, other, session)
        assert told[: len(seen)] == seen
        await ended_well(person, session, updates=2, gap=0)
        await owner.start()
        await here.judge()


async def test_scl_x2_a_cluster_whose_nodes_all_miss_their_leases_goes_on_where_it_was(
    cluster: Cluster,
) -> None:
    """As on a machine without processor time: nobody is left to take over, and all come back at once."""
    async with watched(cluster) as here:
        session, owner, other = await here.session()
        person = await here.person(other, owner)
        await person.follow(session, "")
        for _ in range(2):
            told = len(updates_in(person, session))
            turn = asyncio.ensure_future(person.prompt(session, {"updates": 200, "gap": 0.02}))
            await until(lambda count=told: len(updates_in(person, session)) > count + 20)  # type: ignore[misc]
            for node in cluster.nodes:
                here.blow("pause", node)
                node.send(signal.SIGSTOP)
            await asyncio.sleep(1.2 * LEASE)  # nothing runs that could be waited for
            for node in cluster.nodes:
                node.send(signal.SIGCONT)
            async with deadline(WITHIN):
                outcome = await turn
            assert outcome == "end_turn" or outcome.startswith("error: the turn was cut short"), outcome
        await ended_well(person, session, updates=5, gap=0)
        assert await history(here, owner, session) == await history(here, other, session)
        await here.judge()


@pytest.mark.slow
async def test_scl_04_a_node_that_was_stopped_past_its_lease_does_nothing_more_when_it_wakes(
    cluster: Cluster,
) -> None:
    async with watched(cluster) as here:
        session, owner, other = await here.session()
        person = await here.person(other)
        await person.follow(session, "")
        turn = asyncio.ensure_future(person.prompt(session, {"updates": 5000, "gap": 0.02}))
        await until(lambda: len(updates_in(person, session)) > 20)
        here.blow("pause", owner)
        owner.send(signal.SIGSTOP)
        async with deadline(WITHIN):
            outcome = await turn
        assert outcome.startswith("error: the turn was cut short"), outcome
        await ended_well(person, session, updates=20, gap=0.01)
        told = len(updates_in(person, session))
        second = asyncio.ensure_future(ended_well(person, session, updates=150, gap=0.02))
        await until(lambda: len(updates_in(person, session)) > told + 10)
        owner.send(signal.SIGCONT)
        await second
        assert await history(here, owner, session) == await history(here, other, session)
        await here.judge()


@pytest.mark.slow
async def test_scl_05_nodes_are_killed_in_turn_and_no_answered_turn_is_lost(cluster: Cluster) -> None:
    async with watched(cluster) as here:
        sessions = [(await here.session())[0] for _ in range(4)]
        over = asyncio.Event()

        async def drive(session: str) -> Person:
            person = await here.person(*cluster.nodes)
            await person.follow(session, "")
            while not over.is_set():
                await person.prompt(session, {"updates": 10, "gap": 0.05, "ask": [3]})
            return person

        driving = [asyncio.ensure_future(drive(session)) for session in sessions]
        for number, node in enumerate((*cluster.nodes, *cluster.nodes)):
            await here.answer_more(5)
            here.blow("kill", node)
            await node.end(signal.SIGKILL)
            if number >= len(cluster.nodes):
                await here.answer_more(5)  # by the other node: it has taken over what was this one's
            await node.start()
        over.set()
        async with deadline(WITHIN):
            await asyncio.gather(*driving)
        storm = await here.judge()
        stored = {key for session in sessions for key in digest(session, storm.sessions[session]).ends}
        assert {line.key for line in here.answered()} <= stored
