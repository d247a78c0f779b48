"""Append, then act: what happens in a session is stored first, and has its effect afterwards, in order.

`add` never waits. Entries that gather while a commit lasts are stored together with the next one. Entries
that were added together are stored together. If the journal refuses, nothing has an effect, the entries
stay, and they are tried again if `on_failure`, which hears of it, says so. If nobody knows whether they
were stored, the journal is asked before anything else happens: what it has counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from dragoman.errors import JournalError, JournalUncertain, NoSuchStream, StreamMoved
from dragoman.hub.engine.bounds import SessionBounds
from dragoman.hub.engine.ownership import Ownership
from dragoman.hub.session.events import NewEntry
from dragoman.journal import Journal, Stored
from dragoman.journal.entry_runs import EntryBatch, FrameRun, size_of, size_of_runs
from dragoman.journal.redaction import is_redacted
from dragoman.runtime.locks import LazyEvent

log = logging.getLogger(__name__)

AT_ONCE = 2048
AT_ONCE_BYTES = 1024 * 1024
"""Entries of one append, and their bytes: a session that says much at once must not make the others wait."""

UNCOUNTED_BYTES = 16 * 1024
"""What may wait in one session without being counted: to count every update costs more than to store it."""

PENDING_ENTRIES = 64
"""Updates that cost as much as an entry that is acted upon: a policy may have to decide on it."""

MOMENT = 0.01
"""Seconds in which what an agent says was said at one moment: what waits then is one run, and one row."""

AGAIN_SECONDS = 1.0

STORE_SECONDS = 5.0
"""How long anybody waits for a session's last entries."""

StoredCallback: TypeAlias = Callable[[int, Sequence[FrameRun]], None]
"""These runs are stored, the first entry under this number."""


class OpenRun(FrameRun):
    """A run that still grows."""

    frames: list[bytes]


class EntryLog:
    """One session's end of its stream. Nobody else writes to it."""

    __slots__ = (
        *(
            "stream",
            "last",
            "_journal",
            "_ownership",
            "_on_stored",
            "_on_failure",
            "_waiting",
            "_groups",
            "_open",
            "_size",
        ),
        *("_counted_bytes", "_bounds", "_is_unknown", "_task", "_again", "_is_closed", "_empty_event"),
    )

    def __init__(
        self,
        journal: Journal,
        stream: str,
        bounds: SessionBounds,
        *,
        ownership: Ownership,
        last: int,
        on_stored: StoredCallback,
        on_failure: Callable[[JournalError, bool], bool],
    ) -> None:
        """`on_failure` hears why the waiting entries are not stored, and whether that is certain; it says
        whether they are tried again.
        """
        self.stream = stream
        self.last = last
        """The number of the last entry that is stored."""
        self._journal = journal
        self._ownership = ownership
        self._on_stored = on_stored
        self._on_failure = on_failure
        self._waiting: list[FrameRun] = []
        self._groups: list[int] = []  # how many runs of `_waiting` stand before the end of each `add`
        self._open: OpenRun | None = None  # the last of `_waiting`, if more may be added to it
        self._size = 0  # bytes of `_waiting`
        self._counted_bytes = 0  # how many of them are counted as unstored
        self._bounds = bounds
        self._is_unknown = False  # whether the journal may have some of `_waiting`
        self._task: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._empty_event = LazyEvent(is_set=True)

    def add(self, entries: Sequence[NewEntry]) -> None:
        """Store these together, behind what was added before."""
        if len(entries) == 1 and entries[0].direction == "to_client" and not entries[0].pending:
            self._add_updates(entries[0])
        elif entries:
            self._open = None
            self._add(
                [FrameRun(entry.direction, entry.frames, entry.time, entry.pending) for entry in entries]
            )

    def _add_updates(self, entry: NewEntry) -> None:
        """What an agent says comes in many small pieces: those of one moment are one run."""
        last = self._open
        if last is not None and entry.time - last.time < MOMENT and len(last.frames) < AT_ONCE:
            last.frames.extend(entry.frames)
            self._resize(size_of(entry.frames))
        else:
            self._open = OpenRun("to_client", list(entry.frames), entry.time)
            self._add([self._open])

    def _add(self, runs: Sequence[FrameRun]) -> None:
        self._waiting += runs
        self._resize(size_of_runs(runs))
        self._groups.append(len(self._waiting))
        self._go()

    def replace(self, number: int, frame: bytes) -> None:
        """Store this note in the place of an entry that is not stored yet."""
        first = self.last + 1
        for place, run in enumerate(self._waiting):
            if first == number and len(run.frames) == 1:
                self._resize(len(frame) - size_of(run.frames))
                self._waiting[place] = FrameRun("note", (frame,), run.time)
                return
            first += len(run.frames)
        raise ValueError(f"entry {number} does not wait to be stored")

    @property
    def is_full(self) -> bool:
        """Whether too much waits for the journal: here, or in others that count together with it."""
        return self._counted_bytes > 0 and self._bounds.entries.is_full

    def _resize(self, size: int) -> None:
        self._size += size
        difference = self._size - self._counted_bytes
        if difference and (not self._size or abs(difference) > UNCOUNTED_BYTES):
            self._bounds.entries.add(difference)
            self._counted_bytes = self._size

    @property
    def is_idle(self) -> bool:
        return self._empty_event.is_set()

    async def flush(self, within: float) -> None:
        """Until everything is stored, or `within` seconds have passed. Raises `JournalError` if the log was
        closed before.
        """
        try:
            async with asyncio.timeout(within):
                await self._empty_event.wait()
        except TimeoutError:
            log.warning("a session's last entries could not be stored within %g s", within)
        if self._is_closed and self._waiting:
            raise JournalError("the session was closed before everything was stored")

    async def aclose(self) -> None:
        """What is not stored now is lost, as it would be by a crash: it has had no effect either. Nothing is
        taken any more.
        """
        self._is_closed = True
        self._empty_event.set()
        if self._again is not None:
            self._again.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _go(self) -> None:
        if self._is_closed:
            return
        self._empty_event.clear()
        if self._task is None and self._again is None:
            self._task = asyncio.get_running_loop().create_task(self._store_all(), name="hub log")

    async def _store_all(self) -> None:
        try:
            while self._waiting:
                await self._store()
            self._empty_event.set()
        except JournalError as error:
            self._is_unknown = self._is_unknown or isinstance(error, JournalUncertain)
            if not self._is_closed and self._on_failure(error, not self._is_unknown):
                self._again = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._retry)
        finally:
            self._task = None

    def _retry(self) -> None:
        self._again = None
        self._go()

    def _cut(self) -> int:
        """How many of the runs are stored next: as many as it takes to reach a bound, in whole groups."""
        if len(self._groups) < 2:
            return len(self._waiting)
        count = size = 0
        for place, run in enumerate(self._waiting, 1):
            count += len(run.frames) * (PENDING_ENTRIES if run.pending else 1)
            size += size_of(run.frames)
            if count >= AT_ONCE or size >= AT_ONCE_BYTES:
                return next((end for end in self._groups if end >= place), len(self._waiting))
        return len(self._waiting)

    async def _store(self) -> None:
        if self._is_unknown:
            await self._find_out()
            if not self._waiting:
                return
        # The end of the stream does not tell everything: another node may have deleted the session and loaded
        # it again since, and written as many entries as we know.
        await self._ownership.may_act()
        size = self._cut()
        self._open = None
        try:
            last = await self._journal.append(self.stream, EntryBatch(self._waiting[:size]), after=self.last)
        except StreamMoved as error:
            if self._is_unknown:  # the answer before came from a server that is behind
                raise JournalUncertain(str(error)) from error
            raise
        self._is_unknown = False
        self._finish_runs(size, last)

    def _finish_runs(self, size: int, last: int) -> None:
        """The first `size` runs are stored."""
        if size == len(self._waiting):  # nearly always
            runs, self._waiting = self._waiting, []
            self._groups.clear()
            self._resize(-self._size)
        else:
            runs, self._waiting = self._waiting[:size], self._waiting[size:]
            self._groups = [end - size for end in self._groups if end > size]
            self._resize(-size_of_runs(runs))
        first, self.last = self.last + 1, last
        self._on_stored(first, runs)

    async def _find_out(self) -> None:
        """Which of the waiting entries the journal has. An entry of ours is one that has the time and the
        direction of ours, and its text where it is not redacted.
        """
        entries: list[Stored] = []
        try:
            async for page in self._journal.replay(self.stream, after=self.last):
                entries += page
        except NoSuchStream as error:
            if self.last:  # it was deleted, by whoever has it now
                raise StreamMoved(self.stream, self.last, 0) from error
        place = size = 0
        for run in self._waiting:
            if place == len(entries):
                break
            for frame in run.frames:
                if place == len(entries) or not _is_same(entries[place], run, frame):
                    raise StreamMoved(self.stream, self.last + place, self.last + len(entries))
                place += 1
            size += 1
        if place < len(entries):
            raise StreamMoved(self.stream, self.last + place, self.last + len(entries))
        if size:
            self._is_unknown = False
            self._finish_runs(size, self.last + len(entries))


def _is_same(entry: Stored, run: FrameRun, frame: bytes) -> bool:
    is_same_text = entry.frame == frame or is_redacted(entry.frame)
    return is_same_text and entry.direction == run.direction and entry.time == run.time
