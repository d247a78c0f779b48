"""Appends entries: in order within a stream, in parallel for different streams, each stored exactly once or
not at all.

What is appended to a stream while a record of it is under way goes into one record after it (see `storing`).
What cannot be found out within twenty seconds is an error, and may have been stored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from math import ceil

from dragoman.errors import JournalClosed, JournalError, StreamMoved
from dragoman_hub.nats.jetstream import RetryBudget
from dragoman_hub.nats.record_store import RecordStore
from dragoman_hub.nats.tails import StreamTail, Tails
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.entry_runs import EntryBatch, runs_of_entries, size_of

PATIENCE = 20.0
"""The seconds for a retry: an election takes up to nine, and a lost server must be detected first."""

LEAST_PATIENCE = 5.0
"""The least seconds of tries, even after a long wait behind other records."""

RECORD_BYTES = 256 * 1024
RECORD_ENTRIES = 2_000
"""The most entries in a joined record; a larger append is a record by itself."""

AT_ONCE = 64
"""The most records in transit. More would not be stored sooner, and waiting entries share the next record."""

RECORDS_PER_SECOND = 2_500
"""The records per second of one process over a long time. A record costs the same with one entry or a
hundred, so more of them would fill the loop; waiting entries share the next record.
"""

BURST = 100
"""The records that are sent without waiting after a pause."""

TICK_SECONDS = 0.01
"""The seconds of a step: records of one moment are written and acknowledged with few system calls."""

QUEUED_BYTES = 64 * 1024 * 1024
"""The most bytes that may wait to be stored; a caller with more waits. They bridge an
outage of some seconds.
"""


class _Item:
    __slots__ = ("after", "entries", "future", "has_begun", "last", "life", "queued_at", "size")

    def __init__(self, entries: EntryBatch, after: int | None, queued_at: float) -> None:
        self.entries = entries
        self.after = after
        self.size = sum(size_of(run.frames) for run in entries.runs) + 16 * len(entries)
        self.queued_at = queued_at
        self.last = 0
        self.has_begun = False  # a record of it is under way
        self.life = 0  # of the stream whose end it was first to be written behind, if it wants a certain end
        self.future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def fits(self, last: int, life: int) -> bool:
        """Whether it may be written behind this end. A stream that was deleted since the first try, and made
        again, is another one, though it may have as many entries.
        """
        return self.after is None or (self.after == last and self.life in (0, life))


class _AppendLane:
    """The appends to one stream that wait. A lane exists while there are any."""

    __slots__ = ("items", "stream", "task", "token")

    def __init__(self, stream: str, token: str) -> None:
        self.stream = stream
        self.token = token
        self.items: deque[_Item] = deque()
        self.task: asyncio.Task[None] | None = None


class AppendQueue:
    """All lanes of a journal. `ensure_stream` writes the name of a new stream, `on_stored` gets every new
    end, and `floor` returns the end of a stream whose records are all deleted.
    """

    def __init__(
        self,
        tails: Tails,
        storing: RecordStore,
        *,
        ensure_stream: Callable[[str, str], Awaitable[object]],
        is_named: Callable[[str], bool],
        floor: Callable[[str], Awaitable[int]],
        on_stored: Callable[[str, StreamTail], None],
    ) -> None:
        self._tails = tails
        self._storing = storing
        self._ensure_stream = ensure_stream
        self._is_named = is_named
        self._floor = floor
        self._on_stored = on_stored
        self._lanes: dict[str, _AppendLane] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._queued_bytes = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._turn = 0.0
        self._is_closed = False

    async def append(self, stream: str, token: str, entries: Sequence[Entry], *, after: int | None) -> int:
        item = _Item(runs_of_entries(entries), after, asyncio.get_running_loop().time())
        await self._wait_for_room()
        if self._is_closed:
            raise JournalClosed("the journal is closed")
        self._queued_bytes += item.size
        lane = self._lanes.get(token)
        if lane is None:
            lane = self._lanes[token] = _AppendLane(stream, token)
        lane.items.append(item)
        if lane.task is None:
            lane.task = asyncio.get_running_loop().create_task(self._run(lane), name="nats append")
        try:
            return await item.future
        except asyncio.CancelledError:
            self._withdraw(lane, item)
            raise

    def _withdraw(self, lane: _AppendLane, item: _Item) -> None:
        """The caller was cancelled. An append that has begun may still be stored, one that waits is not."""
        if not item.has_begun and item in lane.items:
            lane.items.remove(item)
            self._queued_bytes -= item.size
            self._wake_waiters()

    async def wait_until_idle(self, token: str) -> None:
        """Wait until no entry waits to be appended to a stream."""
        while (lane := self._lanes.get(token)) is not None and lane.task is not None:
            await asyncio.wait([lane.task])

    async def aclose(self) -> None:
        """Finish the waiting appends; accept no new ones."""
        self._is_closed = True
        self._wake_waiters()
        while tasks := [lane.task for lane in self._lanes.values() if lane.task is not None]:
            await asyncio.wait(tasks)

    async def _wait_for_room(self) -> None:
        while (self._queued_bytes > QUEUED_BYTES or self._waiters) and not self._is_closed:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn in self._waiters:
                    self._waiters.remove(turn)
                self._wake_waiters()  # the turn of whoever is next
                raise
            if self._queued_bytes <= QUEUED_BYTES:
                return

    def _wake_waiters(self) -> None:
        while self._waiters and (self._is_closed or self._queued_bytes <= QUEUED_BYTES):
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                if not self._is_closed:
                    return

    # One lane.

    async def _run(self, lane: _AppendLane) -> None:
        try:
            while lane.items:
                if pause := self._pace():
                    await asyncio.sleep(pause)
                async with self._slots:
                    await self._step(lane)
        finally:
            self._lanes.pop(lane.token, None)
            for item in lane.items:  # only when the loop itself is being torn down
                item.future.cancel()

    def _pace(self) -> float:
        """How long the next record has to wait."""
        now = asyncio.get_running_loop().time()
        self._turn = max(self._turn + 1 / RECORDS_PER_SECOND, now - BURST / RECORDS_PER_SECOND)
        return 0.0 if self._turn <= now else ceil(self._turn / TICK_SECONDS) * TICK_SECONDS - now

    async def _step(self, lane: _AppendLane) -> None:
        """Store the appends that fit into one record, and tell each caller the result."""
        if not lane.items:
            return  # all were withdrawn
        now = asyncio.get_running_loop().time()
        tries = RetryBudget(max(LEAST_PATIENCE, lane.items[0].queued_at + PATIENCE - now))
        batch: list[_Item] = []
        try:
            tail = await self._end(lane, tries)
            batch = self._take(lane, tail)
            if not batch:
                await self._refuse_first(lane, tries)
                return
            new_tail = await self._store(lane, batch, tail, tries)
        except Exception as error:  # noqa: BLE001  # whoever waits is told, and the lane goes on
            self._tails.forget(lane.token)
            if not isinstance(error, JournalError):
                error = JournalError(f"an append failed: {type(error).__name__}: {error}")
            for item in batch or list(lane.items)[:1]:
                self._finish(lane, item, error)
            return
        if (
            new_tail is None
        ):  # somebody else was first: what asked for no certain end is tried again behind it
            self._tails.forget(lane.token)
            for item in batch:
                item.has_begun = False
                if item.future.cancelled():
                    self._withdraw(lane, item)
            return
        self._tails.learn(lane.token, new_tail)
        self._on_stored(lane.token, new_tail)
        for item in batch:
            self._finish(lane, item, None)

    def _finish(self, lane: _AppendLane, item: _Item, error: BaseException | None) -> None:
        lane.items.popleft()
        self._queued_bytes -= item.size
        if not item.future.done():
            if error is None:
                item.future.set_result(item.last)
            else:
                item.future.set_exception(error)
        self._wake_waiters()

    async def _end(self, lane: _AppendLane, tries: RetryBudget) -> StreamTail:
        tail = self._tails.get(lane.token)
        if tail is None:
            tail = await self._read_end(lane, tries)
        return tail

    async def _read_end(self, lane: _AppendLane, tries: RetryBudget) -> StreamTail:
        tail = await self._tails.read(lane.token, patience=tries.remaining)
        if not tail.at and (last := await self._floor(lane.token)):
            tail = StreamTail(last=last)  # all its records have passed the bound of age
        self._tails.learn(lane.token, tail)
        return tail

    def _take(self, lane: _AppendLane, tail: StreamTail) -> list[_Item]:
        """Appends that fit into one record, each with its sequence at the end."""
        batch: list[_Item] = []
        last, size, entries = tail.last, 0, 0
        for item in lane.items:
            if not item.fits(last, tail.life):
                break
            if batch and (size + item.size > RECORD_BYTES or entries + len(item.entries) > RECORD_ENTRIES):
                break
            last += len(item.entries)
            size += item.size
            entries += len(item.entries)
            item.last = last
            item.life = tail.life
            item.has_begun = True
            batch.append(item)
        return batch

    async def _refuse_first(self, lane: _AppendLane, tries: RetryBudget) -> None:
        """The first wants another end than we know: what is true is asked, before it is refused."""
        item = lane.items[0] if lane.items else None
        tail = await self._read_end(lane, tries)
        first = bool(lane.items) and lane.items[0] is item  # it may have been withdrawn meanwhile
        if item is not None and first and item.after is not None and not item.fits(tail.last, tail.life):
            self._finish(lane, item, StreamMoved(lane.stream, item.after, tail.last))

    async def _store(
        self, lane: _AppendLane, batch: list[_Item], tail: StreamTail, tries: RetryBudget
    ) -> StreamTail | None:
        """The new end; None if the end is not where we thought."""
        entries = EntryBatch(run for item in batch for run in item.entries.runs)
        if not entries:
            if not tail.at:
                await self._ensure_stream(lane.stream, lane.token)
            return tail
        storing = self._storing.store(lane.stream, lane.token, entries, tail, tries)
        if tail.at and self._is_named(lane.token):
            return await storing
        # A stream that begins, or whose node was lost when it did: its name is written at the same time. If
        # only that fails, the next append does it.
        new_tail, _ = await asyncio.gather(
            storing, self._ensure_stream(lane.stream, lane.token), return_exceptions=True
        )
        if isinstance(new_tail, BaseException):
            raise new_tail
        return new_tail
