"""The simulated world of one seed: nodes, agents, clients, and everything that goes wrong between them.

The hubs, the cluster, the pool, the sessions and the resuming clients are the real ones. A seed decides how
many of each there are, what people do, how late everything is, and which faults come when. Then the faults
end, and everything must come to rest within a bounded time.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Transport, TransportLimits
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_local.journal.memory import MemoryJournal
from tests.boxes import PACKAGES
from tests.hub.simulate.agents import AgentBook, ScriptedAgent
from tests.hub.simulate.clients import SimulatedClient
from tests.hub.simulate.disk import SimulatedDisk, Weather
from tests.hub.simulate.network import SharedRegister, WireEnd, wire
from tests.hub.simulate.nodes import SimulatedNode
from tests.hub.simulate.oracle import Oracle, StreamReading
from tests.hub.simulate.story import Happening, Story, StoryLog
from tests.hub.simulate.virtual_loop import Process, Stuck, VirtualLoop, virtual_time

REST_SECONDS = 400.0
"""Virtual seconds in which everything must come to rest when the faults have ended: an agent that keeps
dying is started after ever longer pauses, and a client is carried from node to node for a minute.
"""

QUIET = 20
"""Half seconds without anything left to do: a node that was paused notices what it has missed by the beats of
the others.
"""

SHORT = 200
"""The seeds below this one have storms of half the length: they are the seeds of `make test`."""


class Outcome(NamedTuple):
    """What came of a seed."""

    seed: int
    findings: list[str]
    happenings: list[Happening]
    digest: str
    faults: dict[str, int]
    turns: int
    steps: int
    seconds: float
    """Virtual ones."""


class World:
    """Made for one seed, and run once."""

    node_counts: tuple[int, ...] = (1, 1, 2, 3, 3, 4, 5)
    short_seeds: int = SHORT
    agent_names: tuple[str, ...] = ("scripted",)
    agent_kind: type[ScriptedAgent] = ScriptedAgent
    splits_blocks = False
    """Whether connections may be cut inside what was written at once."""
    cwd = "/simulated"

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.loop = loop
        self.seed = seed
        self._streams = 0
        self.random = random.Random(f"{seed}/world")
        self.story = Story(loop.time)
        self.process = Process(loop, "world")
        self.book = self.make_book()
        self.weather = Weather(self.random)
        self.oracle = self.make_oracle()
        self.journal = MemoryJournal(clock=loop.time)
        self.sessions: dict[str, None] = {}
        self.prompts = self.book.prompts
        chance = self.random
        count = chance.choice(self.node_counts)
        self.register = SharedRegister() if count > 1 else None
        self.agents_survive = chance.random() < 0.7
        self.agent_can = {
            name: chance.random() < 0.5 for name in ("load", "resume", "fork", "close", "delete")
        }
        self.agent_idle = chance.choice((600.0, 600.0, 5.0))
        self.failing_starts = chance.choice((0.0, 0.0, 0.2))
        self.most_sessions = chance.randint(1, 5)
        self.options = HubOptions(
            default_agent="scripted",
            prompts_queued=chance.choice((32, 32, 2)),
            expire=chance.choice((0.0, 0.0, 0.0, 5.0)),
            lender_grace=chance.choice((30.0, 2.0)),
            on_last_leave=chance.choice(("go-on", "go-on", "cancel")),
        )
        self.nodes = [SimulatedNode(self, f"node{number}") for number in range(1, count + 1)]
        self.clients = self.make_clients()

    # What other kinds of worlds have of their own.

    def make_book(self) -> AgentBook:
        return AgentBook(self.story)

    def make_oracle(self) -> Oracle:
        return Oracle(self)

    def make_clients(self) -> list[SimulatedClient]:
        chance = self.random
        return [
            SimulatedClient(
                self,
                f"{name}",
                resumes=chance.random() < 0.6,
                chance=self.chance(name),
            )
            for name in ("ann", "bob", "cleo", "dan")[: chance.randint(2, 4)]
        ]

    def make_faults(self) -> list[Callable[[SimulatedNode], None]]:
        return [
            self._crash,
            self._crash,
            self._pause,
            self._cut_off,
            self._fill_disk,
            self._set_clock,
            self._kill_agent,
            self._restart,
        ]

    def grant_of(self, client: SimulatedClient) -> Grant:
        return Grant(client.name)

    def on_hub_made(self, node: SimulatedNode) -> None:
        """Before it takes up what another hub has left."""

    async def before_hub_closes(self, node: SimulatedNode) -> None:
        """In its process; not when it is killed."""

    def close(self) -> None:
        """After the run."""

    def chance(self, name: str) -> random.Random:
        """Another stream of random numbers, so that one part does not shift those of another."""
        self._streams += 1
        return random.Random(f"{self.seed}/{name}/{self._streams}")

    # Connections.

    def connect(self, client: SimulatedClient, limits: TransportLimits) -> Transport:
        """To a node that answers."""
        up = [node for node in self.nodes if node.is_up and not node.process.is_paused]
        if not up:
            raise LinkClosed("no hub is there")
        node = self.random.choice(up)
        here, there = wire(
            client.process,
            node.process,
            self.process,
            chance=self.chance("wire"),
            limits=limits,
            splits=self.splits_blocks,
        )
        node.wires.append((client, here))
        self.story.tell(client.name, f"connects to {node.process.name}")
        node.process.call_later(0.001, self._accept, node, there, client)
        return here

    def _accept(self, node: SimulatedNode, there: WireEnd, client: SimulatedClient) -> None:
        if node.is_up and not node.hub.draining:
            node.hub.accept(there, self.grant_of(client))
        else:
            there.cut()

    def cut(self, client: SimulatedClient) -> None:
        for node in self.nodes:
            for wired, end in list(node.wires):
                if wired is client:
                    node.wires.remove((wired, end))
                    end.cut()

    # Faults.

    async def _storm(self) -> None:
        chance = self.random
        longest = 10.0 if self.seed < self.short_seeds else 20.0
        until = self.loop.time() + chance.uniform(4.0, longest)
        gap = chance.choice((0.5, 2.0, 6.0))
        faults = self.make_faults()
        if chance.random() < 0.1:
            faults = []  # a fine day
        while self.loop.time() < until:
            await asyncio.sleep(chance.uniform(0.0, 2 * gap))
            up = [node for node in self.nodes if node.is_up and not node.process.is_paused]
            if up and faults:
                chance.choice(faults)(chance.choice(up))

    def _crash(self, node: SimulatedNode) -> None:
        with_agents = self.random.random() < 0.3
        self.story.fault("crash", node.name, "with its agents" if with_agents else "its agents may live on")
        node.crash(with_agents=with_agents)
        self.process.call_later(self.random.choice((0.05, 1.0, 6.0)), node.start)

    def _pause(self, node: SimulatedNode) -> None:
        seconds = self.random.choice((0.3, 2.0, 9.0))
        self.story.fault("pause", node.name, f"for {seconds} s")
        process = node.process
        process.is_paused = True
        if seconds > 5:
            node.cut_clients(5.0)  # their connections say nothing for too long
        self.process.call_later(seconds, self._go_on, process)

    def _go_on(self, process: Process) -> None:
        if process.is_alive and process.is_paused:
            process.resume()

    def _cut_off(self, node: SimulatedNode) -> None:
        if node.network is None:
            return
        seconds = self.random.choice((0.5, 3.0, 9.0))
        self.story.fault("partition", node.name, f"for {seconds} s")
        self._set_cut(node, is_cut=True)
        self.process.call_later(seconds, self._heal, node)

    def _heal(self, node: SimulatedNode) -> None:
        self._set_cut(node, is_cut=False)

    def _set_cut(self, node: SimulatedNode, *, is_cut: bool) -> None:
        node.is_cut = node.disk.is_cut = is_cut
        if node.network is not None:
            node.network.is_cut = is_cut

    def _fill_disk(self, node: SimulatedNode) -> None:
        self.story.fault("full disk", node.name, "for a while")
        disk = node.disk
        disk.is_full = True
        self.process.call_later(self.random.choice((0.2, 3.0)), self._make_room, disk)

    def _make_room(self, disk: SimulatedDisk) -> None:
        disk.is_full = False

    def _set_clock(self, node: SimulatedNode) -> None:
        seconds = self.random.choice((-3600.0, -2.0, -0.01, 0.5, 3600.0))
        self.story.fault("clock", node.name, f"jumps by {seconds} s")
        node.process.skew += seconds

    def _kill_agent(self, node: SimulatedNode) -> None:
        for host in node.hosts.values():
            if host.is_running:
                self.story.fault("agent killed", node.name, f"process {host.pid}")
                host.end("it was killed")

    def _restart(self, node: SimulatedNode) -> None:
        self.story.fault("restart", node.name, "is told to stop")
        node.is_up = False
        process = node.process

        async def restart() -> None:
            await node.stop()
            node._lines.clear()
            node._let_go()
            process.kill()
            if self.register is None:
                node.disk.on_crash()

        process.start(restart())

        async def start_again() -> None:
            for _ in range(600):
                await asyncio.sleep(0.1)
                if not process.is_alive:
                    break
            else:
                self.story.find(f"{node.name} did not stop within 60 s")
                node.crash(with_agents=False)
            node.start()

        self.process.start(start_again())

    # The run.

    async def run(self) -> None:
        for node in self.nodes:
            node.start()
        await self._until(lambda: all(node.is_up for node in self.nodes))
        tasks = [client.process.start(client.live()) for client in self.clients]
        await self._storm()
        self._calm()
        if await self._comes_to_rest():
            await self._look()
        for task in tasks:
            task.cancel()
        await self._end()

    async def _until(self, is_so: Callable[[], bool], within: float = 60.0) -> bool:
        """Virtual seconds cost nothing."""
        for _ in range(int(within / 0.05)):
            if is_so():
                return True
            await asyncio.sleep(0.05)
        return False

    def _calm(self) -> None:
        self.story.tell("world", "the faults end")
        self.weather.is_calm = True
        for node in self.nodes:
            self._go_on(node.process)
            if node.process.is_alive:
                self._set_cut(node, is_cut=False)
                node.disk.is_full = False
            node.is_cut = False

    async def _comes_to_rest(self) -> bool:
        caretaker = SimulatedClient(self, "caretaker", resumes=True, chance=self.chance("caretaker"))
        caring = caretaker.process.start(_care(self, caretaker))
        for client in self.clients:
            client.process.start(client.finish())
        until = self.loop.time() + REST_SECONDS
        quiet = 0
        while self.loop.time() < until and quiet < QUIET:
            await asyncio.sleep(0.5)
            quiet = quiet + 1 if not self._unrest() else 0
        caring.cancel()
        for unrest in self._unrest():
            self.story.find(f"no rest {REST_SECONDS:g} s after the faults: {unrest}")
        await caretaker.aclose()
        return quiet >= QUIET

    def _unrest(self) -> list[str]:
        found = [
            f"{client.name} has no answer to {one.method} {one.key} of {one.session}"
            for client in self.clients
            for one in client.unanswered()
        ]
        found += [f"{client.name} is not connected" for client in self.clients if not client.is_connected]
        for node in self.nodes:
            if not node.is_up:
                found.append(f"{node.name} is not up")
                continue
            found += [
                f"an agent of {node.name} has no answer to {name} in {session}"
                for host in node.hosts.values()
                if host.is_running
                for name, session in host.agent.open_requests.items()
            ]
            for session in node.hub.sessions.values():
                state = session.state
                if state.is_busy or state.queue or state.requests or not session.log.is_idle:
                    found.append(
                        f"{session.id} at {node.name}: turn {state.turn and state.turn.key!r}, "
                        f"start {state.start!r}, "
                        f"{len(state.queue)} queued, {len(state.requests)} asked, phase {state.phase}, "
                        f"{'' if session.log.is_idle else 'not '}stored"
                    )
        return found

    async def _look(self) -> None:
        """Somebody who was never there loads every session."""
        streams: dict[str, StreamReading] = {}
        for info in (await self.journal.list(limit=500)).streams:
            if info.last and not self.oracle.is_deleted(info.stream):  # an agent may bring a deleted one back
                entries = [one async for page in self.journal.replay(info.stream) for one in page]
                streams[info.stream] = StreamReading(entries)
        observer = SimulatedClient(self, "observer", resumes=False, chance=self.chance("observer"))
        observer.process.start(observer.live_quietly())
        try:
            async with asyncio.timeout(60.0):
                for session in streams:
                    if not await observer.look(session):
                        self.story.find(f"{session} cannot be loaded at the end")
        except TimeoutError:
            self.story.find("a load at the end was not answered within 60 s")
        else:
            self.oracle.judge(streams, observer)
        await observer.aclose()

    async def _end(self) -> None:
        for client in self.clients:
            await client.aclose()
        closing = [node.process.start(node.aclose()) for node in self.nodes]
        _, late = await asyncio.wait(closing, timeout=60.0)
        if late:
            self.story.find(f"{len(late)} hubs did not close within 60 s")
        for task in closing:
            if task.done() and task.exception() is not None:
                self.story.find(f"a hub did not close in order: {task.exception()!r}")
        for client in self.clients:
            client.process.kill()
        await asyncio.sleep(1.0)
        for task in self.loop.live_tasks():
            process = "" if task.process is None else task.process.name
            if process.startswith("node"):
                self.story.find(f"a task of {process} is left: {task.get_coro()}".split(" at 0x")[0])


async def _care(world: World, caretaker: SimulatedClient) -> None:
    """Somebody looks into the inbox and answers what nobody else has answered."""
    caretaker.process.start(caretaker.live_quietly())
    while True:
        await asyncio.sleep(2.0)
        await caretaker.answer_inbox()


@contextmanager
def _logged(story: Story, *, verbose: bool) -> Iterator[None]:
    """The log of the hubs goes into the story, and nowhere else."""
    loggers = [logging.getLogger(package) for package in PACKAGES.values()]
    handler = StoryLog(story, verbose=verbose)
    before = [(one.level, one.propagate) for one in loggers]
    disabled = logging.root.manager.disable
    for one in loggers:
        one.addHandler(handler)
        one.setLevel(logging.DEBUG if verbose else logging.ERROR)
        one.propagate = False
    logging.disable(logging.NOTSET)
    try:
        yield
    finally:
        for one, (level, propagate) in zip(loggers, before, strict=True):
            one.removeHandler(handler)
            one.setLevel(level)
            one.propagate = propagate
        logging.disable(disabled)


def run_seed(seed: int, *, verbose: bool = False, kind: type[World] = World) -> Outcome:
    """One run. `verbose` puts what the hubs log into the story; it changes nothing else."""
    with virtual_time(str(seed)) as loop, ExitStack() as stack:
        world = kind(seed, loop)
        stack.callback(world.close)
        stack.enter_context(_logged(world.story, verbose=verbose))
        main = world.process.start(world.run())
        try:
            loop.run_until_complete(main)
        except Stuck as stuck:
            world.story.find(str(stuck))
        for error in loop.errors:
            world.story.find(f"nobody has caught an error: {error}")
    story = world.story
    return Outcome(
        seed,
        story.findings,
        story.happenings,
        story.digest(),
        dict(story.faults),
        story.turns,
        loop.steps,
        loop.time(),
    )
