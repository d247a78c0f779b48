"""The index of idempotency keys on NATS: a key-value bucket that follows the records.

| key in the bucket | value |
|---|---|
| `TOKEN.LIFE.HASH` | where the entries of a key lie in a life of a stream, as `KeyEntries` |
| `made.HASH.TOKEN` | the name of the stream that is to be made under a key |

A record and its index are two messages, and a node can be lost between them. So the index of a stream is
written behind its records, entry by entry and in their order: whatever is written last in it, all entries
before that are in it too. Whoever does not know how far the index reaches reads that from the bucket, and
indexes the records behind it first. That mends what a lost node has left undone. To write an entry twice
changes nothing.

The name of a stream that is made under a key stands in the bucket before its record is written. A name whose
stream does not say the same was left behind by a node that was lost meanwhile, and counts for nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from dragoman.decoders import json_decoder
from dragoman.errors import JournalError
from dragoman_hub.nats.bucket import Bucket, RevisionMoved
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.records import Head
from dragoman_hub.nats.tails import StreamTail, Tails
from dragoman_local.journal.contract import KeyEntries, Page
from dragoman_local.journal.idempotency import KeyedEntry, hash_of, keyed_in_page, with_entry

log = logging.getLogger(__name__)

STREAMS = 50_000
"""The most streams whose index position is remembered."""

OPEN_PROMPTS = 4096
"""The most keys whose revision is remembered until their answer comes; for others it is read."""

WAITING_RECORDS = 1024
"""The most waiting records of one stream. Further ones are indexed from the stream, later."""

CLOSE_SECONDS = 5.0

NOTED_ENTRIES = 1000
"""The entries from which on building an index is logged."""

ReadStream = Callable[[str, int, int], AsyncIterator[Page]]
"""Returns the entries of a stream after a sequence, from its name, the sequence and a number of entries."""

_entries = json_decoder(KeyEntries)


class _StoredRecord:
    """Entries of a stream that are to be indexed; none, for somebody who waits for those before `first`."""

    __slots__ = ("entries", "first", "last", "life", "written_future")

    def __init__(self, life: int, first: int, last: int, entries: Sequence[KeyedEntry]) -> None:
        self.life = life
        self.first = first
        self.last = last
        self.entries = entries
        self.written_future: asyncio.Future[None] | None = None


class _StreamQueue:
    """The records of one stream that wait, and the one task that writes its index."""

    __slots__ = ("records", "stream", "task")

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.records: deque[_StoredRecord] = deque()
        self.task: asyncio.Task[None] | None = None


class NatsKeyIndex:
    """The keys of all streams of a journal."""

    def __init__(self, jetstream: JetStream, bucket: str, tails: Tails, read_stream: ReadStream) -> None:
        self._jetstream = jetstream
        self._bucket = Bucket(jetstream, bucket)
        self._tails = tails
        self._read_stream = read_stream
        self._reach: OrderedDict[str, tuple[int, int]] = OrderedDict()  # token → life, last indexed entry
        self._queues: dict[str, _StreamQueue] = {}
        self._open: OrderedDict[str, tuple[KeyEntries, int]] = OrderedDict()  # key → value, revision

    # Records.

    def on_stored(self, stream: str, token: str, head: Head, entries: Sequence[KeyedEntry]) -> None:
        """Note that this process has stored a record."""
        queue = self._queues.get(token)
        if queue is None and not entries:  # nearly every record
            if head.first == 1 or self._reach.get(token) == (head.life, head.first - 1):
                self._learn(token, head.life, head.last)
            return
        if queue is None or len(queue.records) < WAITING_RECORDS:
            self._put(stream, token, _StoredRecord(head.life, head.first, head.last, entries))

    async def claim(self, stream: str, token: str, key: str) -> None:
        """Claim a key before the record is written that a stream was created under it."""
        name = f"made.{hash_of(key).hex()}.{token}"
        try:
            await self._bucket.write(name, stream.encode(), revision=0, within=self._jetstream.patience)
        except RevisionMoved:
            pass  # this stream, by an append that was broken off

    # Lookups.

    async def find(self, stream: str, token: str, key: str) -> KeyEntries | None:
        cached_tail = self._tails.get(token)
        unwritten = None if cached_tail is None else self._unwritten(token, cached_tail)
        if cached_tail is not None and unwritten is not None:
            tail, entries = await asyncio.gather(
                self._tails.read(token), self._read(token, cached_tail.life, key)
            )
            if (tail.life, tail.last) == (cached_tail.life, cached_tail.last):
                for entry in unwritten:
                    entries = with_entry(entries, entry) if entry.key == key else entries
                return entries
        else:
            tail = await self._tails.read(token)
        if not tail.at:
            return None
        if token in self._queues or self._unwritten(token, tail) is None:
            await self._index_up_to(stream, token, tail)
        return await self._read(token, tail.life, key)

    async def find_stream(self, key: str) -> str | None:
        """Return the stream for a key; its own index knows whether it was created."""
        message = await self._bucket.last(f"made.{hash_of(key).hex()}.*")
        return None if message is None else message.data.decode(errors="replace")

    async def delete(self, token: str) -> None:
        for name in (f"{token}.>", f"made.*.{token}"):
            await self._jetstream.purge(self._bucket.stream, self._bucket.root + name)
        self.forget(token)

    def forget(self, token: str) -> None:
        self._reach.pop(token, None)

    async def aclose(self) -> None:
        """Close; unindexed entries are indexed by the next lookup of a key."""
        tasks = [queue.task for queue in self._queues.values() if queue.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # One stream.

    def _put(self, stream: str, token: str, record: _StoredRecord) -> None:
        queue = self._queues.get(token)
        if queue is None:
            queue = self._queues[token] = _StreamQueue(stream)
            work = self._write_index(token, queue)
            queue.task = asyncio.get_running_loop().create_task(work, name="nats key index")
        queue.records.append(record)

    async def _index_up_to(self, stream: str, token: str, tail: StreamTail) -> None:
        record = _StoredRecord(tail.life, tail.last + 1, tail.last, ())
        record.written_future = asyncio.get_running_loop().create_future()
        self._put(stream, token, record)
        await record.written_future

    async def _write_index(self, token: str, queue: _StreamQueue) -> None:
        try:
            while queue.records:
                record = queue.records[0]
                await self._fill_gap(queue.stream, token, record)
                for entry in record.entries:
                    await self._write(token, record.life, entry)
                self._learn(token, record.life, record.last)
                queue.records.popleft()
                if record.written_future is not None and not record.written_future.done():
                    record.written_future.set_result(None)
        except JournalError as error:
            log.warning("journal: the index of keys of stream %s is behind: %s", queue.stream, error)
            self._fail(token, queue, error)
        except BaseException:
            self._fail(token, queue, JournalError("the index of keys could not be written"))
            raise
        finally:
            del self._queues[token]

    def _fail(self, token: str, queue: _StreamQueue, error: JournalError) -> None:
        """Nothing is known any more: the next to look a key up begins with what the bucket says."""
        self.forget(token)
        for record in queue.records:
            if record.written_future is not None and not record.written_future.done():
                record.written_future.set_exception(error)

    async def _fill_gap(self, stream: str, token: str, record: _StoredRecord) -> None:
        """Index what lies before a record and is not in the index yet, as far as anybody knows."""
        end = record.first - 1
        life, upto = self._reach.get(token, (0, 0))
        if life != record.life:
            upto = await self._last_indexed(token, record.life) if end else 0
        if upto >= end:
            return
        if end - upto >= NOTED_ENTRIES:
            log.info("journal: making the index of keys of stream %s from %d entries", stream, end - upto)
        async for page in self._read_stream(stream, upto, end - upto):
            for entry in keyed_in_page(page):
                await self._write(token, record.life, entry)

    async def _last_indexed(self, token: str, life: int) -> int:
        """All entries up to this one are in the index."""
        message = await self._bucket.last(f"{token}.{life:016x}.*")
        return 0 if message is None else _latest(_entries.decode(message.data))

    async def _write(self, token: str, life: int, entry: KeyedEntry) -> None:
        name = _name(token, life, entry.key)
        old_entries: KeyEntries | None
        old_entries, revision = self._open.pop(name, (None, 0))
        new_entries = with_entry(old_entries, entry)
        while new_entries != old_entries:
            value = msgspec.json.encode(new_entries)
            try:
                revision = await self._bucket.write(
                    name, value, revision=revision, within=self._jetstream.patience
                )
            except RevisionMoved as error:  # it is there already, at least in part
                old_entries, revision = _value(error), 0 if error.message is None else error.message.seq
                new_entries = with_entry(old_entries, entry)
            else:
                old_entries = new_entries
        if not new_entries.answer:
            self._open[name] = (new_entries, revision)
            if len(self._open) > OPEN_PROMPTS:
                self._open.popitem(last=False)

    async def _read(self, token: str, life: int, key: str) -> KeyEntries | None:
        value = await self._bucket.get(_name(token, life, key))
        return None if value is None else _entries.decode(value.value)

    def _unwritten(self, token: str, tail: StreamTail) -> list[KeyedEntry] | None:
        """Entries up to an end of a stream that are on their way into the index; None if it is not known that
        there are no others.
        """
        life, upto = self._reach.get(token, (0, 0))
        entries: list[KeyedEntry] = []
        queue = self._queues.get(token)
        for record in () if queue is None else queue.records:
            if record.life != life or record.first > upto + 1:
                return None
            entries += record.entries
            upto = max(upto, record.last)
        return entries if life == tail.life and upto >= tail.last else None

    def _learn(self, token: str, life: int, upto: int) -> None:
        known_life, known_upto = self._reach.pop(token, (0, 0))
        self._reach[token] = (life, max(upto, known_upto) if known_life == life else upto)
        if len(self._reach) > STREAMS:
            self._reach.popitem(last=False)


def _name(token: str, life: int, key: str) -> str:
    return f"{token}.{life:016x}.{hash_of(key).hex()}"


def _value(error: RevisionMoved) -> KeyEntries | None:
    return None if error.message is None else _entries.decode(error.message.data)


def _latest(entries: KeyEntries) -> int:
    """The entry that was indexed when this was written."""
    return max(entries.prompt, entries.answer, entries.made)
