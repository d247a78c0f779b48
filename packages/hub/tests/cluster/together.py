"""Three servers, three hubs, each on a machine of its own, and ways to strike them.

    async with running_cluster(folder) as cluster:
        undo = await cluster.strike("kill", "hub", 1)
        await undo()

Without servers there is one hub with a file as its journal, which can be struck all the same.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dragoman_hub.nats import open_nats
from dragoman_local.journal import Journal, open_journal
from tests.cluster.net import Machine, Network, network
from tests.cluster.node import Node, end_leftovers, share_token
from tests.nats_servers import Servers, started

Undo: TypeAlias = Callable[[], Awaitable[None]]

PREFIX = "storm"


@dataclass
class Cluster:
    """What runs. Nodes are named a, b, c."""

    nodes: list[Node]
    servers: Servers | None
    network: Network
    token: str
    folder: Path

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    @property
    def address(self) -> str:
        """Of the journal."""
        return self.nodes[0].journal

    async def strike(self, how: str, kind: str, number: int) -> Undo:
        """Returns when it is done, with what undoes it."""
        return await (self._strike_hub if kind == "hub" else self._strike_server)(how, number)

    async def _strike_hub(self, how: str, number: int) -> Undo:
        node = self.nodes[number]
        if how == "pause":
            node.send(signal.SIGSTOP)
            return lambda: _at_once(lambda: node.send(signal.SIGCONT))
        if how == "cut":
            return await _cut(self.network[number])
        await node.end(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        return node.start

    async def _strike_server(self, how: str, number: int) -> Undo:
        servers = self.servers
        assert servers is not None
        if how == "pause":
            servers.pause(number)
            return lambda: _at_once(lambda: servers.wake(number))
        if how == "cut":
            return await _cut(self.network[len(self.nodes) + number])
        await asyncio.to_thread(servers.kill if how == "kill" else servers.stop, number)

        async def start() -> None:
            servers.start(number, wait=False)  # by this thread: the server lives as long as who started it
            await asyncio.to_thread(servers.wait_ready, [number])

        return start

    def ask_for_tasks(self) -> None:
        """Every hub writes into its log what it waits for."""
        for node in self.nodes:
            node.send(signal.SIGUSR2)

    def fallen(self) -> list[str]:
        """Who has ended without being told to, and how."""
        hubs = [(node.name, node.process) for node in self.nodes]
        servers = [(server.name, server.process) for server in (self.servers.all if self.servers else [])]
        ended = [(name, process.poll()) for name, process in hubs + servers if process is not None]
        return [f"{name} (status {status})" for name, status in ended if status is not None]

    @asynccontextmanager
    async def journal(self) -> AsyncIterator[Journal]:
        """What the hubs have stored."""
        if self.servers is None:
            async with open_journal(self.nodes[0].data / "hub.db") as journal:
                yield journal
            return
        async with open_nats(self.address) as place:
            yield place.journal


async def _at_once(act: Callable[[], None]) -> None:
    act()


async def _cut(machine: Machine) -> Undo:
    await asyncio.to_thread(machine.cut)
    return lambda: asyncio.to_thread(machine.heal)


@asynccontextmanager
async def running_cluster(
    folder: Path,
    *,
    hubs: int = 3,
    servers: int = 3,
    apart: bool = True,
    command: list[str] | None = None,
    more: str = "",
    servers_more: str = "",
) -> AsyncIterator[Cluster]:
    """`apart`: each on a machine of its own. `command` is another agent than the storm's, `more` further
    lines of the hubs' configuration, `servers_more` of the servers'.
    """
    async with AsyncExitStack() as stack:
        machines = stack.enter_context(network(hubs + servers, apart=apart))
        stack.callback(end_leftovers, folder)
        places = [machine.place for machine in machines[hubs:]]
        run = (
            stack.enter_context(started(folder / "servers", count=servers, places=places, more=servers_more))
            if servers
            else None
        )
        journal = f"{run.url}/{PREFIX}?replicas={servers}" if run else ""
        nodes = [
            Node(name, folder, journal=journal, place=machine.place, command=command, more=more)
            for name, machine in zip("abc"[:hubs], machines, strict=False)
        ]
        token = share_token(nodes)
        for node in nodes:
            stack.push_async_callback(node.end)
            node.begin()
        await asyncio.gather(*(node.ready() for node in nodes))
        yield Cluster(nodes, run, machines, token, folder)
