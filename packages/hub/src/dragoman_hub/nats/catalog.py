"""The descriptions of streams: kept in a bucket, with a cache in memory that answers listings.

What this process writes is in its cache at once; what others write comes a moment later. The last entry
and the time of the last change of a stream are written with every description, and of running streams every
now and then: an append does not touch the bucket. So a listing may be some seconds late about streams of
other nodes; `NatsJournal.info` is not.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman.errors import JournalError, KeyTaken
from dragoman_hub.nats.bucket import Bucket, RevisionMoved, is_marker
from dragoman_hub.nats.bucket_follower import BucketFollower
from dragoman_hub.nats.connection import NatsConnection
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.layout import number_of, token_of
from dragoman_hub.nats.replies import end_tasks, reply_deadline
from dragoman_local.journal.contract import StreamInfo, StreamListing, make_cursor, read_cursor
from dragoman_local.journal.shared_state import RegisterValue

log = logging.getLogger(__name__)

PATIENCE = 20.0
REFRESH_SECONDS = 10.0
"""The seconds by which the caches of other nodes may be late about a stream that runs here."""

REFRESH_AT_ONCE = 16

_decoder = json_decoder(StreamInfo)


class Catalog:
    """Descriptions of all streams, by token. `on_removed` is called with each token that was
    deleted, here or elsewhere.
    """

    def __init__(
        self,
        jetstream: JetStream,
        wire: NatsConnection,
        bucket: str,
        *,
        clock: Callable[[], float],
        on_removed: Callable[[str], None],
    ) -> None:
        self._wire = wire
        self._bucket = Bucket(jetstream, bucket)
        self._follower = BucketFollower(jetstream, wire, self._bucket, self._on_change)
        self._clock = clock
        self._on_removed = on_removed
        self._cache = CatalogCache()
        self._stale: set[str] = set()
        self._loading: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to fill the cache; `wait_until_loaded` waits for it."""
        loop = asyncio.get_running_loop()
        self._loading = loop.create_task(self._load(), name="nats catalog")
        self._refreshing = loop.create_task(self._refresh(), name="nats catalog refresh")

    async def wait_until_loaded(self) -> None:
        """Wait until all streams are in the cache."""
        assert self._loading is not None
        async with reply_deadline(PATIENCE, "to read the list of streams"):
            await asyncio.shield(self._loading)

    async def aclose(self) -> None:
        await end_tasks([self._loading, self._refreshing])
        await self._follower.aclose()
        if not self._wire.is_connected:
            return  # what others see of our streams stays a little late
        try:
            async with asyncio.timeout(5):
                await self._write_stale()
        except TimeoutError:
            pass  # the same

    # What is decided by the bucket.

    async def read(self, token: str) -> StreamInfo | None:
        """Return the description of a stream, read from the leader."""
        entry = await self._bucket.get(token)
        if entry is None:
            return None
        info = _decoder.decode(entry.value)
        self._follower.note(token, entry)
        return info

    async def floor(self, token: str) -> int:
        """Return the end of a stream when it was last described."""
        info = await self.read(token)
        return 0 if info is None else info.last

    async def ensure(self, stream: str, token: str) -> None:
        """Write a first description of the stream, if it has none."""
        if token not in self._cache:
            now = self._clock()
            info = StreamInfo(stream=stream, created=now, updated=now)
            try:
                await self._create(token, info)
            except KeyTaken:
                await self.read(token)

    async def change(self, stream: str, changes: Mapping[str, str], *, last: int) -> StreamInfo:
        """Update an existing description; changes by others in the meantime are kept."""
        token = token_of(stream)
        cached_stream = self._cache.get(token)
        info, revision = (
            (cached_stream.info, cached_stream.revision) if cached_stream is not None else (None, 0)
        )
        async with reply_deadline(PATIENCE, "to change what is known about a stream"):
            while True:
                new_info = self._new_info(info, stream, changes, last)
                try:
                    if info is None:
                        await self._create(token, new_info)
                    else:
                        await self._write(token, new_info, revision)
                    return new_info
                except RevisionMoved as error:
                    message = error.message
                    alive = message is not None and not is_marker(message.headers)
                    info = _decoder.decode(message.data) if message is not None and alive else None
                    revision = message.seq if message is not None else 0

    async def remove(self, token: str) -> bool:
        """Forget a description; return whether there was one."""
        self._stale.discard(token)
        async with reply_deadline(PATIENCE, "to change what is known about a stream"):
            while True:
                entry = await self._bucket.get(token)
                if entry is None:
                    self._follower.note_removal(token)
                    return False
                try:
                    await self._bucket.remove(token, revision=entry.revision, within=PATIENCE)
                except RevisionMoved:
                    continue
                self._follower.note_removal(token)
                return True

    # The cache.

    def get(self, token: str) -> StreamInfo | None:
        cached_stream = self._cache.get(token)
        return None if cached_stream is None else cached_stream.info

    def all(self) -> Iterator[tuple[str, StreamInfo]]:
        return self._cache.all()

    def touch(self, token: str, *, last: int, time: float) -> None:
        """Note that a stream has grown; the bucket is written later."""
        if self._cache.touch(token, last=last, time=time):
            self._stale.add(token)

    def listing(self, filters: Mapping[str, str], *, cursor: str | None, limit: int) -> StreamListing:
        return self._cache.listing(filters, cursor=cursor, limit=limit)

    # Within.

    def _new_info(
        self, info: StreamInfo | None, stream: str, changes: Mapping[str, str], last: int
    ) -> StreamInfo:
        now = self._clock()
        base = info or StreamInfo(stream=stream, created=now)
        return replace(base, **changes, updated=max(now, base.updated), last=max(last, base.last))

    async def _create(self, token: str, info: StreamInfo) -> None:
        value = msgspec.json.encode(info)
        revision = await self._bucket.create(token, value, within=PATIENCE)
        self._follower.note(token, RegisterValue(value, revision))

    async def _write(self, token: str, info: StreamInfo, revision: int) -> None:
        value = msgspec.json.encode(info)
        revision = await self._bucket.write(token, value, revision=revision, within=PATIENCE)
        self._stale.discard(token)
        self._follower.note(token, RegisterValue(value, revision))

    def _on_change(self, token: str, value: RegisterValue | None) -> None:
        if token.startswith("-"):
            return  # how the prefix is laid out
        if value is None:
            self._cache.remove(token)
            self._stale.discard(token)
            self._on_removed(token)
            return
        try:
            info = _decoder.decode(value.value)
        except msgspec.MsgspecError:
            log.warning("left out of the listing: a description that cannot be read")
            return
        cached_stream = self._cache.get(token)
        if cached_stream is not None and token in self._stale:  # what runs here is known better here
            info = replace(
                info,
                last=max(info.last, cached_stream.info.last),
                updated=max(info.updated, cached_stream.info.updated),
            )
        self._cache.put(token, info, value.revision)

    async def _load(self) -> None:
        while True:
            try:
                await self._follower.start()
                return
            except (JournalError, TimeoutError) as error:
                log.warning("the list of streams cannot be read yet: %s", error)
                await asyncio.sleep(0.5)

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await self._write_stale()

    async def _write_stale(self) -> None:
        """A few at once. What cannot be written now is written the next time."""
        waiting = list(self._stale)

        async def work() -> None:
            while waiting:
                try:
                    await self._write_one(waiting.pop())
                except JournalError as error:
                    waiting.clear()  # the others would wait in vain too
                    log.debug("descriptions are late: %s", error)

        await asyncio.gather(*(work() for _ in range(min(REFRESH_AT_ONCE, len(waiting)))))

    async def _write_one(self, token: str) -> None:
        """Write over the revision in the cache. If another node has changed it, that change wins."""
        cached_stream = self._cache.get(token)
        if cached_stream is not None:
            try:
                await self._write(token, cached_stream.info, cached_stream.revision)
            except KeyTaken:
                await self.read(token)


# A node's cache of all stream descriptions, in memory, and the listings from it.
#
# The order by the latest change is mended when somebody lists: streams change more often than anybody looks.
# A stream costs less than a kilobyte here, and a listing looks at no more streams than it must.

MANY = 16
"""The fraction of changed streams above which all are sorted again."""


class CachedStream:
    """A stream of the cache, and the revision of its description."""

    __slots__ = ("info", "place", "revision")

    def __init__(self, info: StreamInfo, revision: int, place: tuple[float, int] | None = None) -> None:
        self.info = info
        self.revision = revision
        self.place = place
        """Where it stands in the order."""


class CatalogCache:
    """Streams by token, in the order of their latest changes."""

    def __init__(self) -> None:
        self._streams: dict[str, CachedStream] = {}
        self._order: list[tuple[float, int, str]] = []
        self._moved_tokens: set[str] = set()

    def __contains__(self, token: str) -> bool:
        return token in self._streams

    def get(self, token: str) -> CachedStream | None:
        return self._streams.get(token)

    def all(self) -> Iterator[tuple[str, StreamInfo]]:
        return ((token, stream.info) for token, stream in self._streams.items())

    def put(self, token: str, info: StreamInfo, revision: int) -> None:
        stream = self._streams.get(token)
        if stream is None:
            self._streams[token] = CachedStream(info, revision)
        else:
            stream.info, stream.revision = info, revision
        self._moved_tokens.add(token)

    def touch(self, token: str, *, last: int, time: float) -> bool:
        """Note that a stream has grown; return whether it is known."""
        stream = self._streams.get(token)
        if stream is None:
            return False
        stream.info = replace(stream.info, last=last, updated=max(time, stream.info.updated))
        self._moved_tokens.add(token)
        return True

    def remove(self, token: str) -> None:
        stream = self._streams.pop(token, None)
        self._moved_tokens.discard(token)
        if stream is not None and stream.place is not None:
            self._take_out(token, stream.place)

    def listing(self, filters: Mapping[str, str], *, cursor: str | None, limit: int) -> StreamListing:
        before = None if cursor is None else read_cursor(cursor)
        self._mend()
        end = len(self._order) if before is None else bisect_left(self._order, before)
        keys: list[tuple[float, int, str]] = []
        for place in range(end - 1, -1, -1):
            key = self._order[place]
            info = self._streams[key[2]].info
            if all(getattr(info, name) == value for name, value in filters.items()):
                keys.append(key)
                if len(keys) > limit:
                    break
        page = keys[:limit]
        next_cursor = make_cursor(*page[-1][:2]) if page and len(keys) > limit else None
        return StreamListing(streams=[self._streams[token].info for *_, token in page], cursor=next_cursor)

    def _mend(self) -> None:
        """Put the streams that have changed in their place of the order."""
        if len(self._moved_tokens) * MANY > len(self._streams):
            for token, stream in self._streams.items():
                stream.place = (stream.info.updated, number_of(token))
            self._order = sorted(
                (*stream.place, token) for token, stream in self._streams.items() if stream.place
            )
        else:
            for token in self._moved_tokens:
                stream = self._streams[token]
                if stream.place is not None:
                    self._take_out(token, stream.place)
                stream.place = (stream.info.updated, number_of(token))
                insort(self._order, (*stream.place, token))
        self._moved_tokens.clear()

    def _take_out(self, token: str, place: tuple[float, int]) -> None:
        del self._order[bisect_left(self._order, (*place, token))]
