"""Records conversations while they happen: accepts frames at once and stores them in the background.

    async with open_journal(history_path()) as journal, HistoryRecorder(journal) as history:
        async with connect(command, tap=history.tap("some-name")) as agent: ...

A tap must not wait, so frames go into a queue that is bounded in bytes. What finds no room, or cannot be
stored, is counted, and a note in the stream says how much is missing and where: a history has no silent gaps.
What a conversation tells about itself (agent, folder, session, title) becomes the stream's description.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from dragoman.errors import JournalError
from dragoman.system.folders import user_folder
from dragoman_local.journal.contract import Direction, Entry, Journal
from dragoman_local.journal.stream_facts import StreamFacts

log = logging.getLogger(__name__)

QUEUED_BYTES = 32 * 1024 * 1024
"""The most bytes that may wait for the disk; above it frames are dropped from the history to save memory."""


def history_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of this user's history."""
    return user_folder("data", environ) / "history.db"


def new_stream() -> str:
    """Return a new, unique stream name for a conversation, which sorts by time."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:8]}"


class Gap:
    """Marks in the queue that frames were dropped for lack of room."""

    __slots__ = ("missing",)

    def __init__(self, missing: int) -> None:
        self.missing = missing


class HistoryRecorder:
    """Records frames of any number of conversations. Leaving its block stores the rest; the journal stays
    open.

    `error` is the latest reason why something could not be stored; None while all is well.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        limit: int = QUEUED_BYTES,
        clock: Callable[[], float] = time.time,
        learn: bool = True,
    ) -> None:
        self.error: JournalError | None = None
        self._unreported_error: JournalError | None = None
        self._journal = journal
        self._limit = limit
        self._clock = clock
        self._learn = learn
        self._queues: dict[str, list[Entry | Gap]] = {}
        self._size = 0
        self._refused_counts: dict[str, int] = {}  # entries that the journal refused, by stream
        self._stream_facts: dict[str, StreamFacts] = {}
        self._wake = asyncio.Event()
        self._idle_event = asyncio.Event()
        self._idle_event.set()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def tap(self, stream: str) -> Callable[[Direction, bytes], None]:
        """Return the value for `connect(..., tap=...)`, for one conversation."""

        def record(direction: Direction, block: bytes) -> None:
            self.record(stream, direction, block)

        return record

    def record(self, stream: str, direction: Direction, block: bytes) -> None:
        """Record one or more frames, each on its own line, without waiting."""
        now = self._clock()
        for frame in block.split(b"\n"):
            if frame:
                self._take(stream, Entry(direction, frame, now))

    def note(self, stream: str, **fields: object) -> None:
        """Record an object that was not on the connection, such as a line of standard error."""
        self._take(stream, Entry("note", msgspec.json.encode(fields), self._clock()))

    async def flush(self) -> None:
        """Wait until all frames are stored. Raises the error if any frame since the last flush was not
        stored.
        """
        self._wake.set()
        await self._idle_event.wait()
        error, self._unreported_error = self._unreported_error, None
        if error is not None:
            raise error

    async def aclose(self) -> None:
        """Store the remaining frames, and end; failures are logged."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.shield(self._task)

    async def __aenter__(self) -> HistoryRecorder:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="history")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _take(self, stream: str, entry: Entry) -> None:
        if self._closing:
            return
        queue = self._queues.setdefault(stream, [])
        size = _size(entry)
        if self._size and self._size + size > self._limit:
            self._miss(stream, queue)
        else:
            self._size += size
            queue.append(entry)
        self._idle_event.clear()
        self._wake.set()

    def _miss(self, stream: str, queue: list[Entry | Gap]) -> None:
        last = queue[-1] if queue else None
        if isinstance(last, Gap):
            last.missing += 1
        else:
            log.warning("the history of %s has a gap: there was no room for it", stream)
            queue.append(Gap(1))

    async def _run(self) -> None:
        try:
            while self._queues or not self._closing:
                await self._wake.wait()
                self._wake.clear()
                await self._store_all()
        finally:
            self._closing = True
            self._idle_event.set()  # whoever flushes is not left waiting

    async def _store_all(self) -> None:
        while self._queues:
            queues, self._queues = self._queues, {}
            for stream, items in queues.items():
                await self._store(stream, items)
                self._size -= sum(_size(item) for item in items if isinstance(item, Entry))
        self._idle_event.set()

    async def _store(self, stream: str, queue: list[Entry | Gap]) -> None:
        if stream in self._refused_counts:
            queue.insert(0, Gap(self._refused_counts.pop(stream)))
        entries = [item if isinstance(item, Entry) else self._gap_note(item) for item in queue]
        try:
            await self._journal.append(stream, entries)
            self.error = None
            await self._describe(stream, entries)
        except JournalError as error:
            self.error = self._unreported_error = error
            log.warning("the history of %s could not be stored: %s", stream, error)
            self._refused_counts[stream] = sum(item.missing if isinstance(item, Gap) else 1 for item in queue)

    def _gap_note(self, gap: Gap) -> Entry:
        why = "the disk could not keep up, or was full"
        return Entry("note", msgspec.json.encode({"missing": gap.missing, "why": why}), self._clock())

    async def _describe(self, stream: str, entries: list[Entry]) -> None:
        if not self._learn:
            return
        stream_facts = self._stream_facts.setdefault(stream, StreamFacts())
        facts: dict[str, str] = {}
        for entry in entries:
            facts |= stream_facts.read(entry)
        if facts:
            await self._journal.describe(
                stream,
                agent=facts.get("agent"),
                cwd=facts.get("cwd"),
                title=facts.get("title"),
                state=facts.get("state"),
                session=facts.get("session"),
            )


def _size(entry: Entry) -> int:
    return len(entry.frame) + 64
