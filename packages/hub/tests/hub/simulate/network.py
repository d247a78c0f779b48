"""What lies between processes: connections of clients, the register and the bus of a cluster.

A connection carries blocks in their order, late, until it is cut; what is under way then is lost. The
register answers late, and not at all while a node is cut off: what it was asked may have been done. The bus
loses words.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from dragoman.errors import JournalUncertain, KeyTaken, LinkClosed, NobodyListens
from dragoman.transport.contract import Sink, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman_local.journal.shared_state import OnBusMessage, OnValueChange, RegisterValue, Subscription
from tests.hub.simulate.disk import Weather
from tests.hub.simulate.story import Story
from tests.hub.simulate.virtual_loop import Lane, Process


class WireEnd:
    """One end of a connection: a `Transport` of the process that it belongs to."""

    peer: WireEnd

    def __init__(
        self,
        process: Process,
        world: Process,
        *,
        chance: random.Random,
        limits: TransportLimits,
        splits: bool,
    ) -> None:
        self.limits = limits
        self._splits = splits
        self.process = process
        self._world = world
        self._chance = chance
        self._slow = chance.choice((0.001, 0.005, 0.05))
        self._sink: Sink | None = None
        self._arrived: list[bytes] = []
        self._size = 0  # of what is on its way to us
        self._lane = Lane(world)
        self._writers = Waiters()
        self._is_cut = False
        self._paused = self._scheduled = self._closed = self._hung_up = self._ended = False

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self._schedule()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._closed or self._hung_up:
            raise LinkClosed("the connection is closed")
        self.peer.receive(bytes(block))

    @property
    def pending(self) -> int:
        return 0 if self._closed else self.peer._size

    async def drain(self) -> None:
        while self.pending > self.limits.low and not (self._closed or self._hung_up):
            await self._writers.wait()
        if self._closed or self._hung_up:
            raise LinkClosed("the connection was closed while waiting to write")

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._schedule()

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._writers.wake()
            self.peer.hang_up()
            self._end()

    # The way here, which belongs to the world.

    def receive(self, block: bytes) -> None:
        self._size += len(block)
        for part in block.splitlines(keepends=True) if self._splits else (block,):
            self._lane.send(self._chance.uniform(self._slow / 20, self._slow), self._arrive, part)

    def hang_up(self) -> None:
        """The other end was closed: heard behind all that was written."""
        self._lane.send(self._chance.uniform(0.0, 2 * self._slow), self._hear_end)

    def cut(self, after: float = 0.0) -> None:
        """The way is gone, with what is on it. Both ends hear of it, each when it does."""
        for end in (self, self.peer):
            end._size = 0
            end._is_cut = True
            end._world.call_later(after + self._chance.uniform(0.0, 1.0), end._hear_end)

    def _arrive(self, block: bytes) -> None:
        if self._is_cut:
            return
        self._arrived.append(block)
        self._schedule()

    def _hear_end(self) -> None:
        self._hung_up = True
        self.process.call_soon(self._writers.wake)
        self._schedule()

    def _schedule(self) -> None:
        if (self._arrived or self._hung_up) and self._sink is not None and not self._scheduled:
            self._scheduled = True
            self.process.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        if self._is_deaf() or self._sink is None:
            return
        while self._arrived and not self._is_deaf():
            block = self._arrived.pop(0)
            self._size = max(0, self._size - len(block))
            self._sink.feed(block)
        if self._size <= self.limits.low:
            self.peer.process.call_soon(self.peer._writers.wake)
        if self._hung_up and not self._arrived:
            self._end()

    def _is_deaf(self) -> bool:
        return self._paused or self._ended

    def _end(self) -> None:
        if self._sink is not None and not self._ended:
            self._ended = True
            self._sink.on_end(None)


def wire(
    left: Process,
    right: Process,
    world: Process,
    *,
    chance: random.Random,
    limits: TransportLimits,
    splits: bool = False,
) -> tuple[WireEnd, WireEnd]:
    """`splits` is whether each line travels by itself: a connection that is cut may have brought a part of a
    block.
    """
    one = WireEnd(left, world, chance=chance, limits=limits, splits=splits)
    other = WireEnd(right, world, chance=chance, limits=limits, splits=splits)
    one.peer, other.peer = other, one
    return one, other


class SharedRegister:
    """The values that all nodes share, and the nodes that hear of them."""

    def __init__(self) -> None:
        self.held: dict[str, RegisterValue] = {}
        self.nodes: dict[str, NetworkNode] = {}
        self._revision = 0
        self._inboxes = 0

    def put(self, key: str, value: bytes | None) -> int:
        self._revision += 1
        if value is None:
            self.held.pop(key, None)
        else:
            self.held[key] = RegisterValue(value, self._revision)
        for node in self.nodes.values():
            node.notice(key, self.held.get(key))
        return self._revision

    def inbox(self) -> str:
        self._inboxes += 1
        return f"inbox.{self._inboxes}"


class NetworkNode:
    """One node's `Register` and `Bus`. While `is_cut`, nothing comes in or goes out."""

    def __init__(
        self,
        name: str,
        shared: SharedRegister,
        process: Process,
        world: Process,
        *,
        weather: Weather,
        chance: random.Random,
        story: Story,
    ) -> None:
        self.name = name
        self._shared = shared
        self._process = process
        self._world = world
        self._weather = weather
        self._chance = chance
        self._story = story
        self._watching: list[tuple[str, OnValueChange]] = []
        self._listening: list[tuple[str, OnBusMessage]] = []
        self._missed: dict[str, None] = {}
        self._is_cut = False
        self._notices = Lane(world)
        self._words = Lane(world)
        shared.nodes[name] = self

    @property
    def is_cut(self) -> bool:
        return self._is_cut

    @is_cut.setter
    def is_cut(self, value: bool) -> None:
        self._is_cut = value
        if not value:
            missed, self._missed = self._missed, {}
            for key in missed:
                self.notice(key, self._shared.held.get(key))

    def _latency(self) -> float:
        if not self._weather.is_calm and self._chance.random() < 0.01:
            return self._chance.uniform(0.05, 1.0)
        return self._chance.uniform(0.0002, self._weather.slow)

    # The register.

    async def create(self, key: str, value: bytes) -> int:
        def act() -> int:
            if key in self._shared.held:
                raise KeyTaken(key)
            return self._shared.put(key, value)

        return await self._ask_register(act)

    async def update(self, key: str, value: bytes, revision: int) -> int:
        return await self._ask_register(lambda: self._checked(key, revision, value))

    async def delete(self, key: str, revision: int) -> None:
        await self._ask_register(lambda: self._checked(key, revision, None))

    async def get(self, key: str) -> RegisterValue | None:
        found: list[RegisterValue | None] = []

        def act() -> int:
            found.append(self._shared.held.get(key))
            return 0

        await self._ask_register(act)
        return found[0]

    async def watch(self, prefix: str, changed: OnValueChange) -> Subscription:
        await self._ask_register(lambda: 0)
        for key in sorted(self._shared.held):
            if key.split(".")[0] == prefix:
                changed(key, self._shared.held[key])
        self._watching.append((prefix, changed))
        return _Ending(lambda: self._watching.remove((prefix, changed)))

    def _checked(self, key: str, revision: int, value: bytes | None) -> int:
        held = self._shared.held.get(key)
        if held is None or held.revision != revision:
            raise KeyTaken(key)
        return self._shared.put(key, value)

    async def _ask_register(self, act: Callable[[], int]) -> int:
        """There, and back; either way may be cut."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        done.add_done_callback(lambda one: one.cancelled() or one.exception())

        def arrive() -> None:
            if self._is_cut:
                return
            try:
                result = act()
            except KeyTaken as error:
                done.set_exception(error)
            else:
                done.set_result(result)

        self._world.call_later(self._latency(), arrive)
        try:
            async with asyncio.timeout(2.0):
                result = await asyncio.shield(done)
                await asyncio.sleep(self._latency())
                if self._is_cut:
                    await asyncio.sleep(2.0)
        except TimeoutError:
            raise JournalUncertain("the other nodes cannot be reached") from None
        return result

    def notice(self, key: str, held: RegisterValue | None) -> None:
        """The register has changed; heard in order, a little later."""
        self._notices.send(self._latency(), self._pass_on, key, held)

    def _pass_on(self, key: str, held: RegisterValue | None) -> None:
        if self._is_cut:
            self._missed.pop(key, None)  # they are told in the order of their last change
            self._missed[key] = None
        else:
            self._process.call_soon(self._tell, key, held)

    def _tell(self, key: str, held: RegisterValue | None) -> None:
        for prefix, changed in list(self._watching):
            if key.split(".")[0] == prefix:
                changed(key, held)

    # The bus.

    def send(self, subject: str, data: bytes) -> None:
        if self._is_cut:
            return
        if not self._weather.is_calm and self._chance.random() < self._weather.lost_words:
            self._story.fault("lost word", self.name, subject)
            return
        for node in list(self._shared.nodes.values()):
            node.receive(subject, data, "")

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        raise NobodyListens(subject)

    async def listen(self, subject: str, heard: OnBusMessage) -> Subscription:
        self._listening.append((subject, heard))
        return _Ending(lambda: self._listening.remove((subject, heard)))

    def receive(self, subject: str, data: bytes, answer: str) -> None:
        hearers = [heard for pattern, heard in self._listening if pattern == subject]
        if not hearers:
            return
        for heard in hearers:
            self._words.send(self._latency(), self._hear, heard, subject, data, answer)

    def _hear(self, heard: OnBusMessage, subject: str, data: bytes, answer: str) -> None:
        if not self._is_cut and any(one is heard for _, one in self._listening):
            self._process.call_soon(heard, subject, data, answer)


class _Ending:
    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    async def aclose(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end()
