"""A machine with a hub on it. The hub may die and be started again; its agents may live on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dragoman.errors import DragomanError, SpawnFailed
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.cluster.cluster import Cluster
from dragoman_hub.cluster.membership import Node, new_life
from dragoman_hub.hub import Hub
from tests.hub.simulate.agent_hosts import AgentHost, HostLine
from tests.hub.simulate.disk import SimulatedDisk
from tests.hub.simulate.network import NetworkNode, WireEnd
from tests.hub.simulate.virtual_loop import Process

if TYPE_CHECKING:
    from tests.hub.simulate.clients import SimulatedClient
    from tests.hub.simulate.world import World

LEASE = 3.0


class SimulatedNode:
    """A machine with a hub on it. The hub may die and be started again; agents may live on."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.world = world
        self.process = Process(world.loop, name)
        self.hosts: dict[str, AgentHost] = {}
        self.wires: list[tuple[SimulatedClient, WireEnd]] = []
        self.is_up = False
        self.is_cut = False
        self.hub: Hub
        self.cluster: Cluster | None = None
        self.disk: SimulatedDisk
        self.network: NetworkNode | None = None
        self._remembered: dict[str, dict[str, Any]] = {}
        self._lines: list[HostLine] = []
        self._starts = 0

    def start(self) -> None:
        """A new process of the hub."""
        self._starts += 1
        skew = self.process.skew
        self.process = Process(self.world.loop, f"{self.name}.{self._starts}")
        self.process.skew = skew
        self.process.start(self._run())

    async def _run(self) -> None:
        world = self.world
        self.disk = SimulatedDisk(
            world.journal,
            world.process,
            self.process,
            weather=world.weather,
            chance=world.chance("disk"),
            story=world.story,
            writers=world.book.writers,
        )
        self.disk.is_cut = self.is_cut
        try:
            await self._open()
        except DragomanError as error:
            world.story.tell(self.name, f"could not start: {error}")
            process = self.process
            process.kill()
            world.process.call_later(1.0, self._start_again, process)
        else:
            self.is_up = True
            world.story.tell(self.name, "is up")

    def _start_again(self, process: Process) -> None:
        if self.process is process:
            self._let_go()
            self.start()

    async def _open(self) -> None:
        world = self.world
        specs = {name: self._spec(name) for name in world.agent_names}
        options = world.options
        if world.register is None:
            self.hub = Hub(self.disk, specs, options=options, remember=self._remember)
            world.on_hub_made(self)
            await self.hub.__aenter__()
            return
        self.network = NetworkNode(
            self.name,
            world.register,
            self.process,
            world.process,
            weather=world.weather,
            chance=world.chance("network"),
            story=world.story,
        )
        self.network.is_cut = self.is_cut
        node = Node(name=self.name, life=new_life(), home=self.name)
        self.cluster = Cluster(self.network, self.network, node, lease=LEASE)
        self.hub = Hub(self.disk, specs, options=options, remember=self._remember, ownership=self.cluster)
        world.on_hub_made(self)
        await self.cluster.join(self.hub)
        await self.hub.__aenter__()
        await self.cluster.open()

    def _remember(self, name: str, answer: dict[str, Any] | None) -> dict[str, Any]:
        if answer is not None:
            self._remembered[name] = answer
        return self._remembered.get(name, {})

    def _spec(self, name: str) -> AgentSpec:
        world, process = self.world, self.process

        async def open_() -> HostLine:
            await asyncio.sleep(world.random.uniform(0.001, 0.2))
            if not world.weather.is_calm and world.random.random() < world.failing_starts:
                world.story.fault("agent start", self.name, "it cannot be started")
                raise SpawnFailed("it cannot be started now")
            called = f"{self.name}/{name}-{world.book.pids + 1}"
            host = AgentHost(
                called,
                Process(world.loop, called),
                world.process,
                world.book,
                can=world.agent_can,
                chance=world.chance("agent"),
                kind=world.agent_kind,
            )
            self.hosts[name] = host
            return hold(host)

        async def adopt() -> HostLine | None:
            await asyncio.sleep(world.random.uniform(0.001, 0.05))
            host = self.hosts.get(name)
            return hold(host) if host is not None and host.is_running else None

        def hold(host: AgentHost) -> HostLine:
            line = HostLine(host, process, world.process, chance=world.random)
            self._lines.append(line)
            return line

        return AgentSpec(
            name=name, open=open_, adopt=adopt if world.agents_survive else None, idle=world.agent_idle
        )

    # Ends.

    def crash(self, *, with_agents: bool) -> None:
        """As SIGKILL does it."""
        self.is_up = False
        self.process.kill()
        if self.world.register is None:
            self.disk.on_crash()
        self._let_go()
        if with_agents or not self.world.agents_survive:
            for host in self.hosts.values():
                host.end("it was killed with its hub")

    def _let_go(self) -> None:
        for line in self._lines:
            line.cut()
        self._lines.clear()
        self.cut_clients()
        if self.network is not None and self.world.register is not None:
            self.world.register.nodes.pop(self.name, None)

    def cut_clients(self, after: float = 0.0) -> None:
        wires, self.wires = self.wires, []
        for _, end in wires:
            end.cut(after)

    async def stop(self) -> None:
        """As SIGTERM does it: drain, then leave the agents to the next hub."""
        self.is_up = False
        await self.world.before_hub_closes(self)
        if self.cluster is not None:
            await self.cluster.drain()
        else:
            self.hub.begin_draining()
        await self.hub.aclose(keep_agents=True)
        if self.cluster is not None:
            await self.cluster.leave()

    async def aclose(self) -> None:
        self.is_up = False
        await self.world.before_hub_closes(self)
        await self.hub.aclose()
        if self.cluster is not None:
            await self.cluster.leave()
