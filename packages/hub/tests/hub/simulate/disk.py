"""The journal of one node on a simulated disk: late, refusing, or silent about what it has done.

What is stored lies in one `MemoryJournal`, which outlives every node. An append travels there and its answer
travels back; both take time, and belong to the world: a node that dies meanwhile cannot take them back. The
disk keeps the contract of journals in everything that it does.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dragoman.errors import JournalBusy, JournalError, JournalFull, JournalUncertain
from dragoman_local.journal import Entry, SearchHit, StoredEntry, StreamInfo, StreamListing
from dragoman_local.journal.contract import KeyEntries, Page
from dragoman_local.journal.entry_runs import EntryBatch, OnAppended, runs_of_entries
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.simulate.story import Story
from tests.hub.simulate.virtual_loop import Lane, Process

T = TypeVar("T")


class Weather:
    """How bad it is: chances of faults by the operation, and how slow things are. Nothing bad once `calm`."""

    def __init__(self, chance: random.Random) -> None:
        self.is_calm = False
        self.slow = chance.choice((0.001, 0.003, 0.02))
        self.append_faults = chance.choice((0.0, 0.0, 0.02, 0.08))
        self.read_faults = chance.choice((0.0, 0.0, 0.0, 0.02))
        self.uncertain = chance.choice((0.0, 0.3, 0.7))
        """The part of failed appends of which nobody knows what became of them."""
        self.lost_words = chance.choice((0.0, 0.0, 0.002, 0.01))


class SimulatedDisk:
    """A `Journal`. `process` is the node that uses it, `is_cut` whether it cannot be reached from there."""

    def __init__(
        self,
        shared: MemoryJournal,
        world: Process,
        process: Process,
        *,
        weather: Weather,
        chance: random.Random,
        story: Story,
        writers: dict[str, str],
    ) -> None:
        """`writers` are the nodes that have written last to each stream."""
        self.is_cut = False
        self.is_full = False
        self._shared = shared
        self._world = world
        self._process = process
        self._weather = weather
        self._chance = chance
        self._story = story
        self._writers = writers
        self._under_way: dict[int, Callable[[], None]] = {}
        self._appending: set[asyncio.Task[None]] = set()
        self._count = 0
        self._lanes: dict[str, Lane] = {}  # appends of one stream arrive in their order

    def _latency(self) -> float:
        slow = self._weather.slow
        if not self._weather.is_calm and self._chance.random() < 0.02:
            return self._chance.uniform(0.1, 1.5)
        return self._chance.uniform(slow / 10, slow)

    def _fault(self, kind: str, what: str) -> None:
        self._story.fault(f"disk {kind}", self._process.name, what)

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        weather, chance = self._weather, self._chance
        if self.is_full:
            await asyncio.sleep(self._latency())
            self._fault("full", f"{stream[-9:]} after {after}")
            raise JournalFull("no room is left")
        fails = self.is_cut or (not weather.is_calm and chance.random() < weather.append_faults)
        if not fails:
            return await self._carried_out(stream, entries, after)
        if not self.is_cut and chance.random() >= weather.uncertain:
            await asyncio.sleep(self._latency())
            self._fault("busy", f"{stream[-9:]} after {after}")
            raise JournalBusy("another process is using the journal")
        fate = "lost" if self.is_cut else chance.choice(("lost", "stored", "late"))
        if fate == "stored":
            work = self._carried_out(stream, entries, after)
            try:
                await work
            except JournalError:
                pass
        elif fate == "late":
            self._arrive(stream, entries, after, chance.uniform(0.0, 3.0))
        await asyncio.sleep(chance.uniform(0.0, 2.0))
        self._fault(f"uncertain {fate}", f"{stream[-9:]} after {after}")
        raise JournalUncertain("nobody answered in time")

    def try_queue_append(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        """Now and then there is no room in the queue: then the hub has to wait by itself."""
        if self._chance.random() < 0.2:
            return False

        async def append() -> None:
            try:
                last = await self.append(stream, batch, after=after)
            except JournalError as error:
                on_done(0, error)
            else:
                on_done(last, None)

        self._appending.add(task := asyncio.get_running_loop().create_task(append(), name="disk"))
        task.add_done_callback(self._appending.discard)
        return True

    async def _carried_out(self, stream: str, entries: Sequence[Entry], after: int | None) -> int:
        done = self._arrive(stream, entries, after, self._latency())
        last = await asyncio.shield(done)
        await asyncio.sleep(self._latency())
        return last

    def _arrive(
        self, stream: str, entries: Sequence[Entry], after: int | None, seconds: float
    ) -> asyncio.Future[int]:
        """Stored when it arrives; appends of one stream arrive in their order."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        done.add_done_callback(lambda one: one.cancelled() or one.exception())  # nobody may wait for it
        batch = runs_of_entries(entries)

        self._count += 1
        number = self._count

        def arrive() -> None:
            if self._under_way.pop(number, None) is None:
                return
            try:
                last = _now(self._shared.append(stream, batch, after=after))
            except JournalError as error:
                done.set_exception(error)
            else:
                self._story.tell("journal", f"{stream[-9:]} now ends at {last} (by {self._process.name})")
                self._writers[stream] = self._process.name.partition(".")[0]
                done.set_result(last)

        self._under_way[number] = arrive
        self._lanes.setdefault(stream, Lane(self._world)).send(seconds, arrive)
        return done

    def on_crash(self) -> None:
        """The process that uses a disk of its own is dead: what is under way is stored now, or never."""
        while self._under_way:
            number = next(iter(self._under_way))
            if self._chance.random() < 0.5:
                self._under_way[number]()
            else:
                self._under_way.clear()

    async def _read(self, what: str, work: Callable[[], Awaitable[T]], *, may_fail: bool = True) -> T:
        await asyncio.sleep(self._latency())
        weather = self._weather
        if self.is_cut:
            await asyncio.sleep(0.5)
            raise JournalUncertain("nobody answered in time")
        if may_fail and not weather.is_calm and self._chance.random() < weather.read_faults:
            self._fault("read", what)
            raise JournalError("the disk cannot be read now")
        return await work()

    def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        return _Pages(self, stream, after, limit)

    async def page(self, stream: str, after: int, limit: int | None) -> Page:
        async def one() -> Page:
            size = 7 if limit is None else min(limit, 7)  # pages end anywhere
            async for page in self._shared.replay(stream, after=after, limit=size):
                return page
            return []

        return await self._read(f"replay {stream[-9:]}", one)

    async def first_entries(self, names: Sequence[str]) -> Mapping[str, StoredEntry]:
        return await self._read("first entries", lambda: self._shared.first_entries(names))

    async def info(self, stream: str) -> StreamInfo | None:
        return await self._read("info", lambda: self._shared.info(stream))

    async def describe(self, stream: str, **fields: Any) -> StreamInfo:
        return await self._read("describe", lambda: self._shared.describe(stream, **fields))

    async def list(self, **wanted: Any) -> StreamListing:
        return await self._read("list", lambda: self._shared.list(**wanted))

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        return await self._read("search", lambda: self._shared.search(text, limit=limit, stream=stream))

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        return await self._read("find key", lambda: self._shared.find_key(stream, key))

    async def find_stream_by_key(self, key: str) -> str | None:
        return await self._read("find made", lambda: self._shared.find_stream_by_key(key))

    async def delete(self, stream: str) -> bool:
        return await self._read("delete", lambda: self._shared.delete(stream))

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        return await self._read("originals", lambda: self._shared.originals(stream))

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        await self._read("drop originals", lambda: self._shared.drop_originals(stream, sequences))

    async def drop_originals_before(self, time: float) -> int:
        return await self._read("drop originals", lambda: self._shared.drop_originals_before(time))

    async def aclose(self) -> None:
        """What is stored outlives the node."""


class _Pages:
    """Not a generator: one that is left in the middle would be ended by the garbage collector."""

    def __init__(self, disk: SimulatedDisk, stream: str, after: int, limit: int | None) -> None:
        self._disk = disk
        self._stream = stream
        self._after = after
        self._left = limit

    def __aiter__(self) -> _Pages:
        return self

    async def __anext__(self) -> Page:
        if self._left is not None and self._left <= 0:
            raise StopAsyncIteration
        page = await self._disk.page(self._stream, self._after, self._left)
        if not page:
            raise StopAsyncIteration
        self._after = page[-1].sequence
        if self._left is not None:
            self._left -= len(page)
        return page


def _now(work: Awaitable[T]) -> T:
    """The result of a coroutine that never waits."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("the journal in memory has waited")
