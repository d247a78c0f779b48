"""A journal that measures its use: appended bytes, the time of each append, and reads.

It keeps every promise of the journal behind it, because it changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from dragoman.errors import JournalError
from dragoman_local.journal import (
    Entry,
    Journal,
    KeyEntries,
    Page,
    SearchHit,
    StoredEntry,
    StreamInfo,
    StreamListing,
)
from dragoman_local.journal.entry_runs import EntryBatch, OnAppended, queue_of


class JournalWatcher(Protocol):
    """The interface of a journal's observer."""

    def on_stored(
        self, stream: str, last: int, entries: Sequence[Entry], seconds: float, *, live: bool
    ) -> None: ...
    def on_failure(self, error: JournalError) -> None: ...
    def replaying(self, stream: str, after: int) -> Callable[[Page], None]:
        """Pass the pages of a replay on, and report each."""


class MeasuredJournal:
    """Wraps `inner`, which others may use as well."""

    def __init__(
        self, inner: Journal, watcher: JournalWatcher, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.inner = inner
        self._queue = queue_of(inner)
        self._watcher = watcher
        self._clock = clock

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        start = self._clock()
        try:
            last = await self.inner.append(stream, entries, after=after)
        except JournalError as error:
            self._watcher.on_failure(error)
            raise
        # A session that lives knows where its stream ends; who does not copies what happened elsewhere.
        self._watcher.on_stored(stream, last, entries, self._clock() - start, live=after is not None)
        return last

    def try_queue_append(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        if self._queue is None:
            return False
        start = self._clock()

        def on_result(last: int, error: BaseException | None) -> None:
            if error is None:
                self._watcher.on_stored(stream, last, batch, self._clock() - start, live=True)
            elif isinstance(error, JournalError):
                self._watcher.on_failure(error)
            on_done(last, error)

        return self._queue(stream, batch, after=after, on_done=on_result)

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        read = self._watcher.replaying(stream, after)
        async for page in self.inner.replay(stream, after=after, limit=limit):
            read(page)
            yield page

    async def first_entries(self, names: Sequence[str]) -> Mapping[str, StoredEntry]:
        return await self.inner.first_entries(names)

    async def info(self, stream: str) -> StreamInfo | None:
        return await self.inner.info(stream)

    async def describe(self, stream: str, **members: Any) -> StreamInfo:
        return await self.inner.describe(stream, **members)

    async def list(self, **filters: Any) -> StreamListing:
        return await self.inner.list(**filters)

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        return await self.inner.search(text, limit=limit, stream=stream)

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        return await self.inner.find_key(stream, key)

    async def find_stream_by_key(self, key: str) -> str | None:
        return await self.inner.find_stream_by_key(key)

    async def delete(self, stream: str) -> bool:
        return await self.inner.delete(stream)

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        return await self.inner.originals(stream)

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        await self.inner.drop_originals(stream, sequences)

    async def drop_originals_before(self, time: float) -> int:
        return await self.inner.drop_originals_before(time)

    async def aclose(self) -> None:
        await self.inner.aclose()
