"""Append, then act: every event of a session is first stored, then takes effect, in order.

`add` never waits. Entries that gather while a commit lasts are stored together with the next one. Entries
that were added together are stored together. If the journal refuses, nothing has an effect, the entries
stay, and they are tried again if the session, which hears of it, says so. If nobody knows whether they
were stored, the journal is asked before anything else happens: what it has counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from dragoman.errors import JournalError, JournalUncertain, NoSuchStream, StreamMoved
from dragoman.runtime.locks import LazyEvent
from dragoman_hub.engine.bounds import SessionBounds
from dragoman_hub.engine.log_round import LogRound
from dragoman_hub.engine.ownership import Ownership
from dragoman_hub.session.events import NewEntry
from dragoman_hub.session.notes import HEARD
from dragoman_hub.session.state import SessionState
from dragoman_local.journal import Journal, StoredEntry
from dragoman_local.journal.entry_runs import EntryBatch, FrameRun, queue_of, size_of, size_of_runs
from dragoman_local.journal.redaction import is_redacted

log = logging.getLogger(__name__)

AT_ONCE = 2048
AT_ONCE_BYTES = 1024 * 1024
"""The most entries and bytes of one append: a session with many entries must not delay the others."""

UNCOUNTED_BYTES = 16 * 1024
"""The bytes that may wait in one session without being counted: counting every update costs more than storing
it.
"""

PENDING_ENTRIES = 64
"""The updates that cost as much as one entry with effects, on which a policy may have to decide."""

MOMENT = 0.05
"""The seconds in which an agent's updates count as one moment: then waiting updates are one run, and one row.
Only a hub that is behind has so many waiting; otherwise each update keeps its own time.
"""

GATHER_BYTES = 4096
"""The bytes above which an agent's output is stored at once: nobody reads so much word by word."""

AGAIN_SECONDS = 1.0

STORE_SECONDS = 5.0
"""The most seconds that a caller waits for a session's last entries."""


class LogSession(Protocol):
    """The session of these entries (`live_session.LiveSession`)."""

    stream: str

    @property
    def state(self) -> SessionState: ...
    @property
    def bounds(self) -> SessionBounds: ...
    def state_to_list(self, *, is_last: bool) -> str: ...
    def on_stored(self, first: int, runs: Sequence[FrameRun]) -> None:
        """These runs are stored, the first entry under this number."""

    def on_failure(self, error: JournalError, certain: bool) -> bool:
        """The waiting entries are not stored, for this reason, and whether that is certain; return whether
        they are tried again.
        """


class OpenRun(FrameRun):
    """A run that still grows."""

    frames: list[bytes]


class Backlog:
    """The entries that wait for the journal. An idle session, as nearly all are, has none."""

    __slots__ = (
        *(
            "runs",
            "groups",
            "open",
            "open_count",
            "size",
            "counted_bytes",
            "is_unknown",
            "is_queued",
            "task",
            "again",
            "is_held",
        ),
        "empty_event",
    )

    def __init__(self) -> None:
        self.runs: list[FrameRun] = []
        self.groups: list[int] = []  # how many of `runs` stand before the end of each `add`
        self.open: OpenRun | None = None  # the last of `runs` but its receipt, if more may be added to it
        self.open_count = 0  # frames of the group that ends with it
        self.size = 0  # bytes of `runs`
        self.counted_bytes = 0  # how many of them are counted as unstored
        self.is_unknown = False  # whether the journal may have some of `runs`
        self.is_queued = False  # whether it is in a round, or in the journal's queue
        self.task: asyncio.Task[None] | None = None
        self.again: asyncio.TimerHandle | None = None
        self.is_held = False  # whether `again` waits for what belongs to `runs`
        self.empty_event = LazyEvent()

    def may_go_on(self, *, with_receipt: bool) -> bool:
        """Whether it ends with updates, with or without their receipt, and has room for more."""
        run = self.open
        if run is None or self.open_count >= AT_ONCE or self.size >= AT_ONCE_BYTES:
            return False
        return (self.runs[-1] is not run) is with_receipt

    def grow(self, updates: NewEntry) -> None:
        """Add updates after the open ones, in one run with them if they are of one moment."""
        run = self.open
        self.open_count += len(updates.frames)
        if run is not None and updates.time - run.time < MOMENT:
            run.frames.extend(updates.frames)
        else:
            self.open = OpenRun("to_client", list(updates.frames), updates.time)
            self.runs.append(self.open)

    def cut(self) -> int:
        """Return the number of runs to store next: as many as fit the limit, in whole groups."""
        if len(self.groups) < 2:
            return len(self.runs)
        count = size = 0
        is_small = self.size < AT_ONCE_BYTES
        for place, run in enumerate(self.runs, 1):
            count += len(run.frames) * (PENDING_ENTRIES if run.pending else 1)
            size += 0 if is_small else size_of(run.frames)
            if count >= AT_ONCE or size >= AT_ONCE_BYTES:
                return next((end for end in self.groups if end >= place), len(self.runs))
        return len(self.runs)


class EntryLog:
    """The only writer of one session's stream."""

    __slots__ = ("_backlog", "_is_closed", "_journal", "_ownership", "_round", "_session", "last", "state")

    def __init__(
        self,
        journal: Journal,
        session: LogSession,
        *,
        ownership: Ownership,
        last: int,
        log_round: LogRound,
    ) -> None:
        self.last = last
        """The number of the last entry that is stored."""
        self.state = ""
        """What listings surely call the session; empty if that is unknown, or about to change."""
        self._journal = journal
        self._round = log_round
        self._session = session
        self._ownership = ownership
        self._backlog: Backlog | None = None
        self._is_closed = False

    def may_go_on(self) -> bool:
        """Whether the last entry is a receipt for updates, which further updates may replace."""
        return self._backlog is not None and self._backlog.may_go_on(with_receipt=True)

    def add(self, entries: Sequence[NewEntry], *, replaces_receipt: bool = False) -> None:
        """Store these together, after the earlier ones, or in place of the receipt at their end: see
        `may_go_on`.
        """
        if not entries:
            return
        if self._backlog is None:
            self._backlog = Backlog()
        if _are_updates(entries):
            self._add_updates(self._backlog, entries, replaces_receipt=replaces_receipt)
        else:
            self._backlog.open = None
            self._add(self._backlog, _runs_of(entries), is_urgent=True)

    def _add_updates(self, backlog: Backlog, entries: Sequence[NewEntry], *, replaces_receipt: bool) -> None:
        """Add an agent's many small updates as one group, with one receipt at the end."""
        updates, *receipts = entries
        if not (replaces_receipt or (not receipts and backlog.may_go_on(with_receipt=False))):
            backlog.open, backlog.open_count = None, 0
            backlog.groups.append(0)
        size = size_of(updates.frames) + (len(receipts[0].frames[0]) if receipts else 0)
        if replaces_receipt:
            size -= size_of(backlog.runs.pop().frames)
        backlog.grow(updates)
        backlog.runs += _runs_of(receipts)
        backlog.groups[-1] = len(backlog.runs)
        self._resize(backlog, size)
        self._go(backlog, is_urgent=backlog.size > GATHER_BYTES)

    def _add(self, backlog: Backlog, runs: Sequence[FrameRun], *, is_urgent: bool) -> None:
        backlog.runs += runs
        self._resize(backlog, size_of_runs(runs))
        backlog.groups.append(len(backlog.runs))
        self._go(backlog, is_urgent=is_urgent or backlog.size > GATHER_BYTES)

    @property
    def is_held(self) -> bool:
        return self._backlog is not None and self._backlog.is_held

    def hold(self, seconds: float) -> None:
        """In an idle log, let new entries wait for `release`, or for this many seconds."""
        backlog = self._backlog = Backlog()
        backlog.empty_event.set()
        backlog.is_held = True
        backlog.again = asyncio.get_running_loop().call_later(seconds, self._retry, backlog)

    def release(self) -> None:
        """Store the held entries, which are complete."""
        backlog = self._backlog
        if backlog is not None and backlog.is_held and backlog.again is not None:
            backlog.again.cancel()
            self._retry(backlog)

    def replace(self, number: int, frame: bytes) -> None:
        """Store this note in place of an entry that is not stored yet."""
        backlog, first = self._backlog, self.last + 1
        for place, run in enumerate(() if backlog is None else backlog.runs):
            if first == number and len(run.frames) == 1:
                assert backlog is not None
                self._resize(backlog, len(frame) - size_of(run.frames))
                backlog.runs[place] = FrameRun("note", (frame,), run.time)
                return
            first += len(run.frames)
        raise ValueError(f"entry {number} does not wait to be stored")

    @property
    def is_full(self) -> bool:
        """Whether too many bytes wait for the journal: here, or in others that count together with it."""
        backlog = self._backlog
        return backlog is not None and backlog.counted_bytes > 0 and self._session.bounds.entries.is_full

    def _resize(self, backlog: Backlog, size: int) -> None:
        backlog.size += size
        difference = backlog.size - backlog.counted_bytes
        if difference and (not backlog.size or abs(difference) > UNCOUNTED_BYTES):
            self._session.bounds.entries.add(difference)
            backlog.counted_bytes = backlog.size

    @property
    def is_idle(self) -> bool:
        return self._backlog is None or self._backlog.empty_event.is_set()

    async def flush(self, within: float) -> None:
        """Wait until everything is stored, or `within` seconds have passed. Raises `JournalError` if the log
        was closed before.
        """
        backlog = self._backlog
        if backlog is None:
            return
        self._round.hurry()
        try:
            async with asyncio.timeout(within):
                await backlog.empty_event.wait()
        except TimeoutError:
            log.warning("a session's last entries could not be stored within %g s", within)
        if self._is_closed and backlog.runs:
            raise JournalError("the session was closed before everything was stored")

    async def aclose(self) -> None:
        """Close the log; unstored entries are lost, as in a crash, but had no effect either."""
        self._is_closed = True
        backlog = self._backlog
        if backlog is None:
            return
        backlog.empty_event.set()
        if backlog.again is not None:
            backlog.again.cancel()
        if backlog.task is not None:
            backlog.task.cancel()
            await asyncio.wait((backlog.task,))

    def _go(self, backlog: Backlog, *, is_urgent: bool) -> None:
        if self._is_closed:
            backlog.empty_event.set()  # nobody waits for what nobody stores
            return
        backlog.empty_event.clear()
        if not backlog.is_queued and backlog.task is None and backlog.again is None:
            backlog.is_queued = True
            self._round.add(self, is_urgent=is_urgent)
        elif is_urgent:
            self._round.hurry()  # it may be there

    def store(self) -> None:
        """Give the waiting entries to the journal, when its round comes."""
        backlog = self._backlog
        if backlog is not None and backlog.is_queued and not self._is_closed and not self._try_queue(backlog):
            backlog.is_queued = False
            loop = asyncio.get_running_loop()
            backlog.task = loop.create_task(self._store_all(backlog), name="hub log")

    def _try_queue(self, backlog: Backlog) -> bool:
        """Let the journal call us when it has stored what waits; False if that takes a task of ours."""
        if backlog.is_unknown or self._ownership.is_shared:
            return False  # something has to be asked before
        queue = queue_of(self._journal)
        if queue is None:
            return False
        batch = self._batch(backlog, backlog.cut())
        on_done = partial(self._on_done, backlog, batch)
        is_queued = queue(self._session.stream, batch, after=self.last, on_done=on_done)
        if is_queued:
            backlog.open = None
        return is_queued

    def _batch(self, backlog: Backlog, size: int) -> EntryBatch:
        """The first `size` runs. They say how listings call the session, too: one commit less."""
        state = self._session.state_to_list(is_last=size == len(backlog.runs))
        self.state = "" if state else self.state
        return EntryBatch(backlog.runs[:size], state=state)

    def _on_done(self, backlog: Backlog, batch: EntryBatch, last: int, error: BaseException | None) -> None:
        """The journal has stored these runs, or has not."""
        if self._is_closed:
            return
        goes_on = False
        try:
            if error is None:
                self._finish_runs(backlog, batch, last)
                goes_on = bool(backlog.runs) and not self._is_closed
            elif isinstance(error, JournalError):
                self._on_failure(backlog, error)
            else:
                raise error
        finally:
            backlog.is_queued = goes_on
        if goes_on:
            self.store()
        elif not backlog.runs:
            self._on_empty(backlog)

    def _on_empty(self, backlog: Backlog) -> None:
        backlog.empty_event.set()
        if not self._session.state.is_busy:
            self._backlog = None

    def _on_failure(self, backlog: Backlog, error: JournalError) -> None:
        backlog.is_unknown = backlog.is_unknown or isinstance(error, JournalUncertain)
        if not self._is_closed and self._session.on_failure(error, not backlog.is_unknown):
            loop = asyncio.get_running_loop()
            backlog.again = loop.call_later(AGAIN_SECONDS, self._retry, backlog)

    async def _store_all(self, backlog: Backlog) -> None:
        try:
            while backlog.runs:
                await self._store(backlog)
            self._on_empty(backlog)
        except JournalError as error:
            self._on_failure(backlog, error)
        finally:
            backlog.task = None

    def _retry(self, backlog: Backlog) -> None:
        backlog.again, backlog.is_held = None, False
        if backlog.runs:
            self._go(backlog, is_urgent=True)

    async def _store(self, backlog: Backlog) -> None:
        if backlog.is_unknown:
            await self._find_out(backlog)
            if not backlog.runs:
                return
        # The end of the stream does not tell everything: another node may have deleted the session and loaded
        # it again since, and written as many entries as we know.
        await self._ownership.may_act()
        batch = self._batch(backlog, backlog.cut())
        backlog.open = None
        try:
            last = await self._journal.append(self._session.stream, batch, after=self.last)
        except StreamMoved as error:
            if backlog.is_unknown:  # the answer before came from a server that is behind
                raise JournalUncertain(str(error)) from error
            raise
        backlog.is_unknown = False
        self._finish_runs(backlog, batch, last)

    def _finish_runs(self, backlog: Backlog, batch: EntryBatch, last: int) -> None:
        """These runs, the first that wait, are stored."""
        self.state, size = batch.state or self.state, len(batch.runs)
        if size == len(backlog.runs):  # nearly always
            runs, backlog.runs = backlog.runs, []
            backlog.groups.clear()
            self._resize(backlog, -backlog.size)
        else:
            runs, backlog.runs = backlog.runs[:size], backlog.runs[size:]
            backlog.groups = [end - size for end in backlog.groups if end > size]
            self._resize(backlog, -size_of_runs(runs))
        first, self.last = self.last + 1, last
        self._session.on_stored(first, runs)

    async def _find_out(self, backlog: Backlog) -> None:
        """Which of the waiting entries the journal has. An entry of ours is one that has the time and the
        direction of ours, and its text where it is not redacted.
        """
        stream = self._session.stream
        entries: list[StoredEntry] = []
        try:
            async for page in self._journal.replay(stream, after=self.last):
                entries += page
        except NoSuchStream as error:
            if self.last:  # it was deleted, by whoever has it now
                raise StreamMoved(stream, self.last, 0) from error
        place = size = 0
        for run in backlog.runs:
            if place == len(entries):
                break
            for frame in run.frames:
                if place == len(entries) or not _is_same(entries[place], run, frame):
                    raise StreamMoved(stream, self.last + place, self.last + len(entries))
                place += 1
            size += 1
        if place < len(entries):
            raise StreamMoved(stream, self.last + place, self.last + len(entries))
        if size:
            backlog.is_unknown = False
            self._finish_runs(backlog, EntryBatch(backlog.runs[:size]), self.last + len(entries))


def _runs_of(entries: Sequence[NewEntry]) -> list[FrameRun]:
    return [FrameRun(entry.direction, entry.frames, entry.time, entry.pending) for entry in entries]


def _are_updates(entries: Sequence[NewEntry]) -> bool:
    """Whether these are only updates of an agent and their receipt, for which no caller waits."""
    if entries[0].direction != "to_client" or entries[0].pending:
        return False
    return len(entries) == 1 or (len(entries) == 2 and entries[1].frames[0].startswith(HEARD))


def _is_same(entry: StoredEntry, run: FrameRun, frame: bytes) -> bool:
    is_same_text = entry.frame == frame or is_redacted(entry.frame)
    return is_same_text and entry.direction == run.direction and entry.time == run.time
