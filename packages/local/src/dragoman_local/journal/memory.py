"""A journal in memory, with the whole contract: for tests and for data that may be lost.

It keeps everything until it is closed, and knows nothing of durability or damage. It redacts what it is told
to, and nothing by itself.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType

from msgspec.structs import replace

from dragoman.errors import JournalClosed, JournalError, NoSuchStream, StreamMoved
from dragoman_local.journal.contract import (
    PAGE_BYTES,
    PAGE_ROWS,
    Entry,
    KeyEntries,
    Page,
    SearchHit,
    StoredEntry,
    StreamInfo,
    StreamListing,
    make_cursor,
    read_cursor,
)
from dragoman_local.journal.conversation import moments
from dragoman_local.journal.entry_runs import RunPage, is_housekeeping, runs_of_entries
from dragoman_local.journal.idempotency import keyed_entries, with_entry
from dragoman_local.journal.originals import originals_of
from dragoman_local.journal.redaction import redact_runs
from dragoman_local.journal.search_text import SEARCHED, excerpt, has_all


class MemoryJournal:
    """Use `async with MemoryJournal() as journal:`, or create it without; closing it erases everything."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        redact: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._clock = clock
        self._redact = redact
        self._infos: dict[str, StreamInfo] = {}
        self._entries: dict[str, list[StoredEntry]] = {}
        self._originals: dict[str, dict[int, StoredEntry]] = {}
        self._keys: dict[str, dict[str, KeyEntries]] = {}  # by stream and key
        self._numbers: dict[str, int] = {}
        self._last_number = 0
        self._is_closed = False

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self._check()
        old_info = self._infos.get(stream)
        last = old_info.last if old_info else 0
        if after is not None and after != last:
            raise StreamMoved(stream, after, last)
        info = old_info or self._make(stream)
        batch = runs_of_entries(entries)
        runs = batch.runs if self._redact is None else redact_runs(batch, self._redact)
        for original in originals_of(batch.runs, runs, last):
            self._originals.setdefault(stream, {})[original.sequence] = original
        keys = self._keys.setdefault(stream, {})
        for entry in keyed_entries(batch.runs, last):
            keys[entry.key] = with_entry(keys.get(entry.key), entry)
        page = RunPage(last + 1, runs)
        self._entries[stream] += page
        last = page.last
        updated = info.updated if is_housekeeping(batch.runs) else self._clock()
        state = (batch.state if info.agent else "") or info.state
        self._infos[stream] = replace(info, last=last, updated=updated, state=state)
        return last

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        remaining = limit
        while remaining is None or remaining > 0:
            self._check()
            if stream not in self._entries:
                raise NoSuchStream(stream)
            page = _page(self._entries[stream], after, remaining)
            if not page:
                return
            yield page
            after = page[-1].sequence
            remaining = None if remaining is None else remaining - len(page)

    async def first_entries(self, names: Sequence[str]) -> dict[str, StoredEntry]:
        self._check()
        return {name: entries[0] for name in names if (entries := self._entries.get(name))}

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
        fields = {"agent": agent, "cwd": cwd, "title": title, "state": state, "session": session}
        changes = {name: value for name, value in fields.items() if value is not None}
        self._infos[stream] = replace(info, **changes, updated=self._clock())
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
        filters = {"agent": agent, "cwd": cwd, "state": state, "session": session}
        matches = [
            ((info.updated, self._numbers[info.stream]), info)
            for info in self._infos.values()
            if all(value is None or getattr(info, name) == value for name, value in filters.items())
        ]
        if cursor is not None:
            before = read_cursor(cursor)
            matches = [(key, info) for key, info in matches if key < before]
        matches.sort(key=lambda pair: pair[0], reverse=True)
        page = matches[:limit]
        next_cursor = make_cursor(*page[-1][0]) if page and len(matches) > limit else None
        return StreamListing(streams=[info for _, info in page], cursor=next_cursor)

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        self._check()
        hits = [
            SearchHit(
                stream=name,
                sequence=moment.first,
                kind=moment.kind,
                excerpt=excerpt(moment.search_text, text),
                title=self._infos[name].title,
            )
            for name, entries in self._entries.items()
            if stream is None or stream == name
            for moment in moments(entries)
            if moment.kind in SEARCHED and has_all(moment.search_text, text)
        ]
        return hits[:limit]

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        self._check()
        return self._keys.get(stream, {}).get(key)

    async def find_stream_by_key(self, key: str) -> str | None:
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
        return {place: original.frame for place, original in self._originals.get(stream, {}).items()}

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        self._check()
        for sequence in sequences:
            self._originals.get(stream, {}).pop(sequence, None)

    async def drop_originals_before(self, time: float) -> int:
        self._check()
        count = 0
        for originals in self._originals.values():
            for sequence in [place for place, original in originals.items() if original.time < time]:
                del originals[sequence]
                count += 1
        return count

    async def aclose(self) -> None:
        self._is_closed = True
        self._infos, self._entries, self._originals, self._numbers = {}, {}, {}, {}
        self._keys = {}

    async def __aenter__(self) -> MemoryJournal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _check(self) -> None:
        if self._is_closed:
            raise JournalClosed("the journal is closed")

    def _make(self, stream: str) -> StreamInfo:
        if not stream:
            raise JournalError("a stream needs a name")
        self._last_number += 1
        now = self._clock()
        self._numbers[stream] = self._last_number
        self._entries[stream] = []
        self._infos[stream] = StreamInfo(stream=stream, created=now, updated=now)
        return self._infos[stream]


def _page(entries: Sequence[StoredEntry], after: int, limit: int | None) -> list[StoredEntry]:
    rows = PAGE_ROWS if limit is None else min(limit, PAGE_ROWS)
    page: list[StoredEntry] = []
    size = 0
    for entry in entries[max(after, 0) : max(after, 0) + rows]:
        page.append(entry)
        size += len(entry.frame)
        if size >= PAGE_BYTES:
            break
    return page
