"""Append, then act: what happens in a session is stored first, and has its effect afterwards, in order.

`add` never waits. Entries that gather while a commit lasts are stored together with the next one; when they
are stored, each entry's act is run and the entry shown to whoever follows, in the order of `add`. If the
journal refuses, nothing has an effect, the entries stay, and they are tried again if `failed`, which hears of
it, says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from dragoman.errors import JournalError
from dragoman.hub.bounds import SessionBounds
from dragoman.journal import Direction, Journal, Stored
from dragoman.journal.runs import Gathered, Run, RunPage, size_of

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

Act: TypeAlias = Callable[[Stored], None]
Show: TypeAlias = Callable[[Sequence[Stored]], None]


class Heard(Run):
    """A run that still grows."""

    frames: list[bytes]


class SessionLog:
    """One session's end of its stream. Nobody else writes to it."""

    def __init__(
        self,
        journal: Journal,
        stream: str,
        bounds: SessionBounds,
        *,
        last: int,
        show: Show,
        failed: Callable[[JournalError], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.stream = stream
        self.last = last
        """The sequence of the last entry that is stored."""
        self._journal = journal
        self._show = show
        self._failed = failed
        self._clock = clock
        self._waiting: list[Run] = []
        self._acts: list[tuple[int, Act]] = []  # by the place of the run in `_waiting`
        self._breaths: list[int] = []  # how many runs of `_waiting` stand before each
        self._heard: Heard | None = None  # the last of `_waiting`, if more may be added to it
        self._size = 0  # bytes of `_waiting`, and of what is being stored
        self._counted = 0  # how many of them are counted as unstored
        self._unstored = bounds.unstored
        self._task: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._closed = False
        self._emptied = asyncio.Event()
        self._emptied.set()

    def add(
        self, entries: Sequence[tuple[Direction, bytes]], act: Act | None = None, *, pending: bool = False
    ) -> None:
        """Store these; `act` is run with the last of them when they are. `pending` ones are acted upon after
        a crash, as they are said here and not as they are redacted.
        """
        now = self._clock()
        self._add([Run(direction, (frame,), now, pending) for direction, frame in entries], act)

    def add_heard(self, frames: Sequence[bytes]) -> None:
        """The same for frames of the agent, which are many."""
        now, last = self._clock(), self._heard
        if last is not None and now - last.time < MOMENT and len(last.frames) < AT_ONCE:
            last.frames.extend(frames)
            self._resize(size_of(frames))
        else:
            heard = Heard("to_client", list(frames), now)
            self._add([heard])
            self._heard = heard

    def _add(self, runs: Sequence[Run], act: Act | None = None) -> None:
        self._heard = None
        self._waiting += runs
        self._resize(sum(size_of(run.frames) for run in runs))
        if act is not None:
            self._acts.append((len(self._waiting) - 1, act))
        self._go()

    def _resize(self, size: int) -> None:
        self._size += size
        uncounted = self._size - self._counted
        if uncounted and (not self._size or abs(uncounted) > UNCOUNTED_BYTES):
            self._unstored.add(uncounted)
            self._counted = self._size

    @property
    def is_full(self) -> bool:
        """Whether too much waits for the journal: here, or in others that count together with it."""
        return self._counted > 0 and self._unstored.is_full

    @property
    def is_idle(self) -> bool:
        return self._emptied.is_set()

    async def flush(self, within: float) -> None:
        """Until everything is stored, or `within` seconds have passed. Raises `JournalError` if the log was
        closed before.
        """
        try:
            async with asyncio.timeout(within):
                await self._emptied.wait()
        except TimeoutError:
            log.warning("a session's last entries could not be stored within %g s", within)
        if self._closed and self._waiting:
            raise JournalError("the session was closed before everything was stored")

    async def aclose(self) -> None:
        """What is not stored now is lost, as it would be by a crash: it has had no effect either. Nothing is
        taken any more.
        """
        self._closed = True
        self._emptied.set()
        if self._again is not None:
            self._again.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _go(self) -> None:
        if self._closed:
            return
        self._emptied.clear()
        if self._task is None and self._again is None:
            self._task = asyncio.get_running_loop().create_task(self._store_all(), name="hub log")

    async def _store_all(self) -> None:
        try:
            while self._waiting:
                await self._store()
            self._emptied.set()
        except JournalError as error:
            if not self._closed and self._failed(error):
                self._again = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._retry)
        finally:
            self._task = None

    def _retry(self) -> None:
        self._again = None
        self._go()

    def breathe(self) -> None:
        """Between what was added before and what comes next, a crash may come: the one can be stored without
        the other.
        """
        self._breaths.append(len(self._waiting))

    def _cut(self) -> int:
        """How many of the runs are stored next: as many as it takes to reach a bound, up to a breath."""
        breaths = iter(self._breaths)
        count = size = 0
        for place, run in enumerate(self._waiting, 1):
            count += len(run.frames) * (PENDING_ENTRIES if run.pending else 1)
            size += size_of(run.frames)
            if count >= AT_ONCE or size >= AT_ONCE_BYTES:
                return next((breath for breath in breaths if breath >= place), len(self._waiting))
        return len(self._waiting)

    async def _store(self) -> None:
        size = self._cut()
        runs, self._waiting = self._waiting[:size], self._waiting[size:]
        self._heard = None
        acts = [(place, act) for place, act in self._acts if place < size]
        self._acts = [(place - size, act) for place, act in self._acts if place >= size]
        self._breaths = [place - size for place in self._breaths if place > size]
        try:
            last = await self._journal.append(self.stream, Gathered(runs), after=self.last)
        except BaseException:
            self._acts = acts + [(place + size, act) for place, act in self._acts]
            self._breaths = [size, *(place + size for place in self._breaths)]
            self._waiting = runs + self._waiting  # the next try begins with them
            raise
        first, self.last = self.last + 1, last
        self._resize(-sum(size_of(run.frames) for run in runs))
        self._act(first, runs, acts)

    def _act(self, first: int, runs: Sequence[Run], acts: Sequence[tuple[int, Act]]) -> None:
        """These are stored: run each act behind the entries before it, and show all of them."""
        shown = 0
        for place, act in acts:
            first = self._show_some(first, runs[shown:place])
            shown = place
            try:
                act(RunPage(first, runs[place : place + 1])[-1])
            except Exception:  # one act that fails must not take the rest with it
                log.exception("an act of the session %s failed", self.stream)
        self._show_some(first, runs[shown:])

    def _show_some(self, first: int, runs: Sequence[Run]) -> int:
        """Returns what comes behind them."""
        page = RunPage(first, runs)
        if runs:
            self._show(page)
        return first + len(page)
