"""The journal on NATS JetStream: the whole contract, for any number of nodes.

What was acknowledged is stored by as many servers as there are replicas, and is on their disks if they run
with `sync_interval: always`, which a client cannot see. It stores frames as they come, except that known
secrets are made unreadable first. Streams of one name are one stream, whichever node writes them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from dragoman.errors import JournalClosed, JournalDamaged, JournalError, NoSuchStream
from dragoman_hub.nats.append_queue import AppendQueue
from dragoman_hub.nats.catalog import Catalog
from dragoman_hub.nats.connection import NatsConnection
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.key_index import NatsKeyIndex
from dragoman_hub.nats.layout import Layout, keys_bucket, meta_bucket, token_of
from dragoman_hub.nats.objects import ObjectStore
from dragoman_hub.nats.options import NatsOptions
from dragoman_hub.nats.originals import NatsOriginals, mark_of
from dragoman_hub.nats.record_store import RecordStore
from dragoman_hub.nats.replay import NatsReplay
from dragoman_hub.nats.search import NatsSearch
from dragoman_hub.nats.tails import StreamTail, Tails
from dragoman_local.journal.contract import (
    Entry,
    KeyEntries,
    Page,
    SearchHit,
    StoredEntry,
    StreamInfo,
    StreamListing,
)
from dragoman_local.journal.streams import clean


class NatsJournal:
    """`Journal` over one connection, which it does not own."""

    def __init__(
        self,
        jetstream: JetStream,
        wire: NatsConnection,
        layout: Layout,
        options: NatsOptions,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._redact = options.redact
        self._tails = Tails(jetstream, layout)
        self._objects = ObjectStore(jetstream, layout)
        self._catalog = Catalog(
            jetstream, wire, meta_bucket(layout.prefix), clock=clock, on_removed=self._forget
        )
        self._originals = NatsOriginals(jetstream, layout)
        self._keys = NatsKeyIndex(
            jetstream,
            keys_bucket(layout.prefix),
            self._tails,
            lambda stream, after, limit: self.replay(stream, after=after, limit=limit),
        )
        storing = RecordStore(
            jetstream,
            layout,
            self._tails,
            self._objects,
            self._originals,
            self._keys,
            redact=options.redact,
            clock=clock,
        )
        self._appends = AppendQueue(
            self._tails,
            storing,
            ensure_stream=self._catalog.ensure,
            is_named=lambda token: self._catalog.get(token) is not None,
            floor=self._floor,
            on_stored=lambda token, tail: self._catalog.touch(token, last=tail.last, time=tail.time),
        )
        self._replay = NatsReplay(jetstream, layout, self._tails, self._objects, keeps_all=layout.keeps_all)
        self._search = NatsSearch(
            jetstream,
            layout,
            self._catalog,
            lambda stream, after: self.replay(stream, after=after),
            path=options.index,
        )
        self._drops = not layout.keeps_all
        self._is_closed = False

    def start(self) -> None:
        self._catalog.start()
        self._search.start()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        name, token = self._name(stream)
        return await self._appends.append(name, token, entries, after=after)

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        name, token = self._name(stream)
        if limit is not None and limit <= 0:
            return
        tail = await self._end(token)
        if not tail.at and await self._catalog.read(token) is None:
            raise NoSuchStream(stream)
        async for page in self._replay.pages(name, token, tail, after=after, limit=limit):
            yield page
            self._check()

    async def first_entries(self, names: Sequence[str]) -> dict[str, StoredEntry]:
        entries = await asyncio.gather(*map(self._first_entry, names))
        return {name: entry for name, entry in zip(names, entries, strict=True) if entry is not None}

    async def _first_entry(self, name: str) -> StoredEntry | None:
        """Read the first entry; one request is enough for nearly all streams; a replay takes three, and knows
        what to do if that fails.
        """
        stream, token = self._name(name)
        entry = await self._replay.first_entry(token)
        if entry is not None:
            return entry
        try:
            async for page in self.replay(stream, limit=1):
                return page[0]
        except (NoSuchStream, JournalDamaged):
            pass
        return None

    async def info(self, stream: str) -> StreamInfo | None:
        name, token = self._name(stream)
        tail, info = await asyncio.gather(self._tails.read(token), self._catalog.read(token))
        return _merge_info(name, info, tail)

    async def describe(
        self,
        stream: str,
        *,
        agent: str | None = None,
        cwd: str | None = None,
        title: str | None = None,
        state: str | None = None,
        session: str | None = None,
    ) -> StreamInfo:
        name, token = self._name(stream)
        if title is not None and self._redact is not None:
            title = self._redact(title.encode(errors="replace")).decode(errors="replace")
        fields = {"agent": agent, "cwd": cwd, "title": title, "state": state, "session": session}
        changes = {field: clean(value) for field, value in fields.items() if value is not None}
        tail = self._tails.get(token) or await self._tails.read(token)
        return await self._catalog.change(name, changes, last=tail.last)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int = 50,
        agent: str | None = None,
        cwd: str | None = None,
        state: str | None = None,
        session: str | None = None,
    ) -> StreamListing:
        self._check()
        fields = {"agent": agent, "cwd": cwd, "state": state, "session": session}
        filters = {field: clean(value) for field, value in fields.items() if value is not None}
        await self._catalog.wait_until_loaded()
        return self._catalog.listing(filters, cursor=cursor, limit=limit)

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        self._check()
        return await self._search.search(text, limit=limit, stream=stream)

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        return await self._keys.find(*self._name(stream), clean(key))

    async def find_stream_by_key(self, key: str) -> str | None:
        self._check()
        stream = await self._keys.find_stream(clean(key))
        entries = None if stream is None else await self.find_key(stream, key)
        return stream if entries is not None and entries.made else None

    async def delete(self, stream: str) -> bool:
        """Delete a stream. The name goes first, so that a half deleted stream is not listed; a second try
        finishes it.
        """
        _, token = self._name(stream)
        await self._appends.wait_until_idle(token)
        was_listed = await self._catalog.remove(token)
        purge_count = await self._jetstream.purge(
            self._layout.stream_of(token), self._layout.subject_of(token)
        )
        await self._objects.delete_all(token)
        await self._originals.drop(token)
        await self._keys.delete(token)
        self._tails.forget_all(token)
        return was_listed or purge_count > 0

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        originals: dict[int, bytes] = {}
        for sequence, candidates in (await self._originals.read(self._name(stream)[1])).items():
            mark = await self._mark(stream, sequence)
            frames = [original.frame for original in candidates if original.mark == mark]
            if mark and frames:
                originals[sequence] = frames[-1]
        return originals

    async def _mark(self, stream: str, sequence: int) -> str:
        """The mark of an entry; empty if it is not there."""
        try:
            async for page in self.replay(stream, after=sequence - 1, limit=1):
                return mark_of(page[0])
        except NoSuchStream:  # whoever wrote the original did not come to write the entry
            pass
        return ""

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        await self._originals.drop(self._name(stream)[1], sequences)

    async def drop_originals_before(self, time: float) -> int:
        self._check()
        return await self._originals.drop_before(time)

    async def aclose(self) -> None:
        self._is_closed = True
        await self._appends.aclose()
        await self._keys.aclose()
        await self._search.aclose()
        await self._catalog.aclose()

    async def _end(self, token: str) -> StreamTail:
        """Where a stream ends; of one whose end cannot be read, an end behind all that can."""
        try:
            return await self._tails.read(token)
        except JournalDamaged:
            return await self._tails.read_first(token)

    async def _floor(self, token: str) -> int:
        return await self._catalog.floor(token) if self._drops else 0

    def _forget(self, token: str) -> None:
        """A stream was deleted, here or elsewhere."""
        self._tails.forget_all(token)
        self._originals.forget(token)
        self._keys.forget(token)
        self._search.forget(token)

    def _name(self, stream: str) -> tuple[str, str]:
        self._check()
        if not stream:
            raise JournalError("a stream needs a name")
        name = clean(stream)
        return name, token_of(name)

    def _check(self) -> None:
        if self._is_closed:
            raise JournalClosed("the journal is closed")


def _merge_info(stream: str, info: StreamInfo | None, tail: StreamTail) -> StreamInfo | None:
    """The description of a stream together with its end."""
    if info is None and not tail.at:
        return None
    if info is None:  # it began when its node was lost: the description comes with the next append
        return StreamInfo(stream=stream, created=tail.time, updated=tail.time, last=tail.last)
    return replace(
        info, last=max(tail.last, 0 if tail.at else info.last), updated=max(info.updated, tail.time)
    )
