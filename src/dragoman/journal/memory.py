"""A journal in memory: the whole contract without a disk, for tests and for what may be forgotten.

It keeps everything until it is closed, and knows nothing of durability or damage. It redacts what it is told
to, and nothing by itself.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType

from msgspec.structs import replace

from dragoman.errors import JournalClosed, JournalError, NoSuchStream, StreamMoved
from dragoman.journal.contract import (
    PAGE_BYTES,
    PAGE_ROWS,
    Entry,
    KeyEntries,
    Page,
    SearchHit,
    Stored,
    StreamInfo,
    StreamListing,
    make_cursor,
    read_cursor,
)
from dragoman.journal.conversation import moments
from dragoman.journal.entry_runs import RunPage, runs_of_entries
from dragoman.journal.idempotency import keyed_entries, with_entry
from dragoman.journal.originals import originals_of
from dragoman.journal.redaction import redact_runs
from dragoman.journal.search_text import SEARCHED, excerpt, has_all


class MemoryJournal:
    """`async with MemoryJournal() as journal:`, or without; closing it forgets everything."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        redact: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._clock = clock
        self._redact = redact
        self._infos: dict[str, StreamInfo] = {}
        self._entries: dict[str, list[Stored]] = {}
        self._originals: dict[str, dict[int, Stored]] = {}
        self._keys: dict[str, dict[str, KeyEntries]] = {}  # by stream and key
        self._numbers: dict[str, int] = {}
        self._made = 0
        self._closed = False

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self._check()
        known = self._infos.get(stream)
        last = known.last if known else 0
        if after is not None and after != last:
            raise StreamMoved(stream, after, last)
        info = known or self._make(stream)
        said = runs_of_entries(entries)
        runs = said.runs if self._redact is None else redact_runs(said, self._redact)
        for original in originals_of(said.runs, runs, last):
            self._originals.setdefault(stream, {})[original.sequence] = original
        keys = self._keys.setdefault(stream, {})
        for entry in keyed_entries(said.runs, last):
            keys[entry.key] = with_entry(keys.get(entry.key), entry)
        page = RunPage(last + 1, runs)
        self._entries[stream] += page
        last = page.last
        self._infos[stream] = replace(info, last=last, updated=self._clock())
        return last

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        left = limit
        while left is None or left > 0:
            self._check()
            if stream not in self._entries:
                raise NoSuchStream(stream)
            page = _page(self._entries[stream], after, left)
            if not page:
                return
            yield page
            after = page[-1].sequence
            left = None if left is None else left - len(page)

    async def info(self, stream: str) -> StreamInfo | None:
        self._check()
        return self._infos.get(stream)

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
        self._check()
        info = self._infos.get(stream) or self._make(stream)
        given = {"agent": agent, "cwd": cwd, "title": title, "state": state, "session": session}
        changed = {name: value for name, value in given.items() if value is not None}
        self._infos[stream] = replace(info, **changed, updated=self._clock())
        return self._infos[stream]

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
        wanted = {"agent": agent, "cwd": cwd, "state": state, "session": session}
        keyed = [
            ((info.updated, self._numbers[info.stream]), info)
            for info in self._infos.values()
            if all(value is None or getattr(info, name) == value for name, value in wanted.items())
        ]
        if cursor is not None:
            before = read_cursor(cursor)
            keyed = [(key, info) for key, info in keyed if key < before]
        keyed.sort(key=lambda pair: pair[0], reverse=True)
        shown = keyed[:limit]
        following = make_cursor(*shown[-1][0]) if shown and len(keyed) > limit else None
        return StreamListing(streams=[info for _, info in shown], cursor=following)

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        self._check()
        found = [
            SearchHit(
                stream=name,
                sequence=moment.first,
                kind=moment.kind,
                excerpt=excerpt(moment.searched, text),
                title=self._infos[name].title,
            )
            for name, stored in self._entries.items()
            if stream is None or stream == name
            for moment in moments(stored)
            if moment.kind in SEARCHED and has_all(moment.searched, text)
        ]
        return found[:limit]

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        self._check()
        return self._keys.get(stream, {}).get(key)

    async def find_made(self, key: str) -> str | None:
        self._check()
        return next((stream for stream, keys in self._keys.items() if key in keys and keys[key].made), None)

    async def delete(self, stream: str) -> bool:
        self._check()
        self._entries.pop(stream, None)
        self._keys.pop(stream, None)
        self._originals.pop(stream, None)
        self._numbers.pop(stream, None)
        return self._infos.pop(stream, None) is not None

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        self._check()
        return {place: stored.frame for place, stored in self._originals.get(stream, {}).items()}

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        self._check()
        for sequence in sequences:
            self._originals.get(stream, {}).pop(sequence, None)

    async def drop_originals_before(self, time: float) -> int:
        self._check()
        count = 0
        for original in self._originals.values():
            for sequence in [place for place, stored in original.items() if stored.time < time]:
                del original[sequence]
                count += 1
        return count

    async def aclose(self) -> None:
        self._closed = True
        self._infos, self._entries, self._originals, self._numbers = {}, {}, {}, {}
        self._keys = {}

    async def __aenter__(self) -> MemoryJournal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _check(self) -> None:
        if self._closed:
            raise JournalClosed("the journal is closed")

    def _make(self, stream: str) -> StreamInfo:
        if not stream:
            raise JournalError("a stream needs a name")
        self._made += 1
        now = self._clock()
        self._numbers[stream] = self._made
        self._entries[stream] = []
        self._infos[stream] = StreamInfo(stream=stream, created=now, updated=now)
        return self._infos[stream]


def _page(stored: Sequence[Stored], after: int, limit: int | None) -> list[Stored]:
    rows = PAGE_ROWS if limit is None else min(limit, PAGE_ROWS)
    page: list[Stored] = []
    size = 0
    for entry in stored[max(after, 0) : max(after, 0) + rows]:
        page.append(entry)
        size += len(entry.frame)
        if size >= PAGE_BYTES:
            break
    return page
