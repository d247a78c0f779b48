"""Replays records in batches from any replica, and checks them against the end that the leader reports.

A replica may lag, so a reading is over when it has passed the end that the leader had when it began, and
the end that this process has been told of since. Reading from the middle begins at a record near it: marks
that were learned before narrow the search, and a few looks at single records do the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from dragoman.errors import JournalDamaged, NoSuchStream
from dragoman_hub.nats.jetstream import JetStream, RetryBudget, StoredMessage
from dragoman_hub.nats.layout import Layout
from dragoman_hub.nats.objects import ObjectStore, read_place
from dragoman_hub.nats.records import (
    DEFLATED,
    HEAD_BYTES,
    OUTSIDE,
    THREAD_BYTES,
    Head,
    read_head,
    read_rest,
)
from dragoman_hub.nats.replies import NoReply
from dragoman_hub.nats.tails import StreamTail, Tails
from dragoman_local.journal.contract import Page, StoredEntry
from dragoman_local.journal.entry_runs import FrameRun, RunPage, at_most, pages_of, size_of_runs

BATCH = 256
FIRST_BATCH = 16
"""The records of the first request for a small number of entries, so that little is read in vain."""

NEAR = 64
"""The records that may be read in vain before the wanted one; they come in the same answer."""

LOOKS = 8
"""The most single records to read before a replay begins."""

BATCH_BYTES = 4 * 1024 * 1024
TURN = 5_000
"""The entries after which other tasks run before the next record is read."""

LAGGING = 5
"""The reads without new entries before the leader is asked for the next record."""


class NatsReplay:
    """Replays all streams of a journal."""

    def __init__(
        self, jetstream: JetStream, layout: Layout, tails: Tails, objects: ObjectStore, *, keeps_all: bool
    ) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._tails = tails
        self._objects = objects
        self._kept_all = keeps_all
        """Whether a stream must begin with its first entry; not so where old records are dropped."""

    async def pages(
        self, stream: str, token: str, tail: StreamTail, *, after: int, limit: int | None
    ) -> AsyncIterator[Page]:
        """Yield the entries after `after`, at least up to `tail`, which the leader reported."""
        most = BATCH if limit is None else FIRST_BATCH
        reading = _ReplayReader(self, stream, token, tail, after=max(0, after), most=most)
        remaining = limit
        while remaining is None or remaining > 0:
            runs = await reading.next_runs()
            if not runs:
                return
            for page in await _cut(reading.first, runs, remaining):
                yield page
                await asyncio.sleep(0)  # others have their turn
                remaining = None if remaining is None else remaining - len(page)

    async def first_entry(self, token: str) -> StoredEntry | None:
        """Return the first entry of a stream, if any replica has it and it is intact."""
        messages, _ = await self.batch(token, 1, most=1)
        head = _readable_head(messages[0]) if messages else None
        tail = self._tails.get(token)
        if head is None or (tail is not None and tail.life != head.life):
            return None
        try:
            runs = await self.runs_of(token, head, messages[0], 0)
        except JournalDamaged:
            return None
        run = runs[0]
        return StoredEntry(head.first, run.direction, run.frames[0], run.time)

    async def runs_of(self, token: str, head: Head, message: StoredMessage, after: int) -> list[FrameRun]:
        rest = message.data[HEAD_BYTES:]
        if head.flags & OUTSIDE:
            rest = await self._objects.get(token, read_place(rest))
        if head.flags & DEFLATED or len(rest) > THREAD_BYTES:  # nobody knows how large a deflated one gets
            return await asyncio.to_thread(read_rest, token, head, rest, after=after)
        return read_rest(token, head, rest, after=after)

    async def begin(self, token: str, tail: StreamTail, after: int) -> int:
        """Return a message at or shortly before the one with the entry after `after`."""
        stream, subject = self._layout.stream_of(token), self._layout.subject_of(token)
        marks = self._tails.marks(token, tail.life)
        target = after + 1
        (first, low), (last, high) = marks.around(target, end=(tail.last, tail.at))
        for look in range(LOOKS):
            if min(target - first, high - low) <= NEAR:  # entries or records between are few
                break
            # A little before where it should be if the entries lay evenly; where they do not, halves help.
            share = 0.5 if look % 3 == 2 else (target - first - NEAR // 2) / max(1, last - first)
            guess = min(max(low + int((high - low) * share), low + 1), high - 1)
            batch = await self._jetstream.batch(stream, subject, guess, most=1, most_bytes=BATCH_BYTES)
            message = batch.messages[0] if batch.messages else None
            head = _readable_head(message)
            if message is None or head is None or head.life != tail.life:
                high = guess
            elif head.first <= target <= head.last:
                return message.seq
            elif message.seq >= high:
                high = guess
            elif head.first > target:
                high, last = guess, head.first
            else:
                low, first = message.seq, head.first
                marks.learn(first, low)
        return low

    async def batch(self, token: str, seq: int, *, most: int) -> tuple[list[StoredMessage], bool]:
        """Return messages at or after a sequence, and whether there are more."""
        stream, subject = self._layout.stream_of(token), self._layout.subject_of(token)
        batch = await self._jetstream.batch(stream, subject, seq, most=most, most_bytes=BATCH_BYTES)
        return list(batch.messages), batch.remaining > 0

    async def from_leader(self, token: str, seq: int) -> StoredMessage | None:
        stream, subject = self._layout.stream_of(token), self._layout.subject_of(token)
        return await self._jetstream.next_message(stream, subject, seq)

    def end_of(self, token: str, tail: StreamTail) -> int:
        """Return the last entry that a replay must reach."""
        cached_tail = self._tails.get(token)
        return (
            max(tail.last, cached_tail.last)
            if cached_tail is not None and cached_tail.life == tail.life
            else tail.last
        )

    def learn(self, token: str, head: Head, seq: int) -> None:
        self._tails.learn_mark(token, head, seq)

    @property
    def keeps_all(self) -> bool:
        return self._kept_all

    @property
    def patience(self) -> float:
        return self._jetstream.patience


class _ReplayReader:
    """One replay: where it is, and what it must still reach."""

    def __init__(
        self, replay: NatsReplay, stream: str, token: str, tail: StreamTail, *, after: int, most: int
    ) -> None:
        """`most`: records of the first request."""
        self._replay = replay
        self._stream = stream
        self._token = token
        self._tail = tail
        self._after = after
        self.first = after + 1
        """Where the entries begin that were read last."""
        self._is_placed = False
        self._began = False
        self._seq = 1
        self._most = most
        self._damage: JournalDamaged | None = None

    async def next_runs(self) -> list[FrameRun]:
        """The next entries; an empty list at the end."""
        if self._damage is not None:
            raise self._damage
        if not self._is_placed:
            if self._after >= self._tail.last:
                return []  # the leader has just said so
            self._is_placed = True
            self._seq = await self._replay.begin(self._token, self._tail, self._after)
        elif self._after >= self._replay.end_of(self._token, self._tail):
            return []
        tries = RetryBudget(self._replay.patience)
        empty = 0
        while True:
            messages, _ = await self._replay.batch(self._token, self._seq, most=self._most)
            if not messages and empty >= LAGGING:
                message = await self._replay.from_leader(self._token, self._seq)
                messages = [] if message is None else [message]
            self._most = BATCH
            runs = await self._take(messages)
            if runs:
                return runs
            if self._damage is not None:
                raise self._damage
            if not messages:
                if self._after >= self._replay.end_of(self._token, self._tail):
                    return []
                empty += 1
                await self._again(tries)

    async def _again(self, tries: RetryBudget) -> None:
        try:
            await tries.again(NoReply("lagging"))
        except NoReply:
            await self._raise_missing()

    async def _raise_missing(self) -> None:
        """Raise what it means that entries are missing: the stream was deleted, or entries were lost."""
        if await self._replay.from_leader(self._token, 1) is None:
            raise NoSuchStream(self._stream)
        why = f"the entries after {self._after} are gone"
        raise JournalDamaged(why, stream=self._stream, sequence=self._after)

    async def _take(self, messages: list[StoredMessage]) -> list[FrameRun]:
        runs: list[FrameRun] = []
        turn = self._after + TURN
        for message in messages:
            head = self._head(message)
            if head is None:
                break
            self._seq = message.seq + 1
            if head.life != self._tail.life or head.last <= self._after:
                continue
            try:
                new = await self._replay.runs_of(self._token, head, message, self._after)
            except JournalDamaged as error:
                self._damage = JournalDamaged(error.why, stream=self._stream, sequence=self._after)
                break
            if not self._follows(head):
                break
            if not runs:
                self.first = max(head.first, self._after + 1)
            runs += new
            self._after = head.last
            self._replay.learn(self._token, head, message.seq)
            if head.last >= turn:
                turn = head.last + TURN
                await asyncio.sleep(0)  # others have their turn
        return runs

    def _head(self, message: StoredMessage) -> Head | None:
        try:
            return read_head(message.data)
        except JournalDamaged as error:
            self._damage = JournalDamaged(error.why, stream=self._stream, sequence=self._after)
            return None

    def _follows(self, head: Head) -> bool:
        """Whether a record begins where the one before it ended. The oldest records may be gone by age."""
        if head.first > self._after + 1 and (self._began or self._replay.keeps_all):
            why = f"entries {self._after + 1} to {head.first - 1} are gone"
            self._damage = JournalDamaged(why, stream=self._stream, sequence=self._after)
            return False
        self._began = True
        return True


def _readable_head(message: StoredMessage | None) -> Head | None:
    """The head of a record; None if there is none or it is damaged, which the reader of earlier entries
    reports.
    """
    try:
        return None if message is None else read_head(message.data)
    except JournalDamaged:
        return None


async def _cut(first: int, runs: Sequence[FrameRun], limit: int | None) -> Iterable[RunPage]:
    """Pages of the runs, of so many entries. To take long texts apart line by line would hold up the loop."""
    if size_of_runs(runs) > THREAD_BYTES:
        return await asyncio.to_thread(lambda: list(pages_of(first, _first(runs, limit))))
    return pages_of(first, _first(runs, limit))


def _first(runs: Sequence[FrameRun], count: int | None) -> Iterator[FrameRun]:
    """So many entries of them; all without a count."""
    if count is None:
        yield from runs
        return
    for run in runs:
        if count > 0:
            yield at_most(run, count)
        count -= len(run.frames)
