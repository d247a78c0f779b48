"""Several nodes in one process: hubs on one journal, a register and a bus in memory, and accidents.

`crash` ends a node as `kill -9` does, `cut` takes its network away, `pause` stops it as SIGSTOP does for as
long as it lasts. Agents are those of the stage; a lease that runs out stops them, as agent hosts do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from dragoman import Agent
from dragoman.errors import JournalError
from dragoman.testing.pace import patience
from dragoman.transport.memory import memory_pair
from dragoman_hub.cluster.cluster import Cluster
from dragoman_hub.cluster.membership import Node, new_life
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.stage import Stage, Talker
from tests.journal.shared_state_memory import MemoryNode, SharedMemory

LEASE = 0.5
"""Where nodes are to be taken for dead. On a busy machine it is longer: see `nodes`."""

LONGEST_LEASE = 2.0
"""On a machine that is as busy as can be: nodes that live renew it in time, and tests wait for its end."""

LONG = 20.0
"""Where they are not, however slow the machine is."""


class Seen(MemoryJournal):
    """One node's sight of the journal that all nodes share."""

    def __init__(self, shared: MemoryJournal, network: MemoryNode) -> None:
        super().__init__()
        self._shared = shared
        self._network = network
        names = ("originals", "drop_originals", "drop_originals_before", "find_key", "find_stream_by_key")
        for name in ("info", "describe", "list", "search", "delete", *names):
            setattr(self, name, getattr(shared, name))

    async def append(self, stream: str, entries: Any, *, after: int | None = None) -> int:
        await asyncio.sleep(0)
        if self._network.cut:
            raise JournalError("the journal cannot be reached")
        entries = [Entry(one.direction, one.frame, one.time, one.pending) for one in entries]
        return await self._shared.append(stream, entries, after=after)

    def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> Any:
        return self._shared.replay(stream, after=after, limit=limit)


class Member(Stage):
    """A node with its agents."""

    def __init__(self, name: str, group: Group, agents: dict[str, Callable[[], Agent]], **about: Any) -> None:
        self.network = group.shared.node()
        seen = Seen(group.journal, self.network)
        super().__init__(agents, group.options, keeps=True, journal=seen)
        self.name = name
        self._about = about
        self._lease = group.lease
        self.cluster: Cluster

    async def start(self) -> None:
        specs = {name: self._spec(name) for name in self._agents}
        node = Node(name=self.name, life=new_life(), home=self.name, **self._about)
        self.cluster = Cluster(self.network, self.network, node, lease=self._lease)
        self.hub = Hub(
            self.journal, specs, options=self.options, remember=self._remember, ownership=self.cluster
        )
        await self.cluster.join(self.hub)
        await self.hub.__aenter__()
        await self.cluster.open()

    async def crash(self) -> None:
        for router in list(self.cluster.routers):
            router.on_block = router.feed = _nothing  # type: ignore[method-assign,assignment]
        self.network.cut = True
        await super().crash()
        await self.cluster.owner.aclose()
        await self.cluster.members.aclose()
        await self.cluster.owners.aclose()
        self.cluster.links._links.clear()
        await self.cluster.links.aclose()
        for router in list(self.cluster.routers):
            await router.owner.aclose()
            await router.transport.aclose()
        for kept in list(self.kept.values()):
            await kept.aclose()
        self.kept.clear()

    def client(self, grant: Grant | None = None, **ours: Any) -> Talker:
        here, there = memory_pair()
        talker = Talker(here, **ours)
        self.hub.accept(there, grant or Grant("owner"))
        return talker

    async def aclose(self) -> None:
        await super().aclose()
        await self.cluster.leave()


def _nothing(*_: object) -> None:
    """What a node that is gone says and hears."""


class Group:
    """The nodes and what they share."""

    def __init__(self, options: HubOptions, lease: float, journal: MemoryJournal) -> None:
        self.lease = lease
        self.shared = SharedMemory()
        self.journal = journal
        self.options = options
        self.nodes: dict[str, Member] = {}
        self.gone: list[Member] = []

    def __getitem__(self, name: str) -> Member:
        return self.nodes[name]

    async def crash(self, name: str) -> None:
        member = self.nodes.pop(name)
        self.gone.append(member)
        await member.crash()

    def owner(self, session: str) -> str:
        """The node that has the session."""
        (found,) = [name for name, node in self.nodes.items() if session in node.hub.sessions]
        return found


@asynccontextmanager
async def nodes(
    *names: str,
    agents: dict[str, Callable[[], Agent]],
    about: dict[str, Any] | None = None,
    lease: float = LONG,
    journal: MemoryJournal | None = None,
    **options: Any,
) -> AsyncIterator[Group]:
    if lease < LONGEST_LEASE:
        lease = min(patience(lease), LONGEST_LEASE)
    group = Group(HubOptions(default_agent=next(iter(agents)), **options), lease, journal or MemoryJournal())
    try:
        for name in names:
            member = Member(name, group, agents, **(about or {}).get(name, {}))
            await member.start()
            group.nodes[name] = member
        yield group
    finally:
        for member in group.nodes.values():
            await member.aclose()
