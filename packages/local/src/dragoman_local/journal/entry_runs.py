"""Runs of entries: many frames with the same direction and time, without an object for each.

Nearly everything that a hub stores comes by the hundred, and an object for each frame costs more than to
store it. `EntryBatch` is what `append` may be given, and `RunPage` what `replay` may give: to whoever does
not know them, each is a sequence of entries like any other, made when it is looked at. Whoever does asks for
the very type: for classes like these, `isinstance` takes many times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, overload

from dragoman_local.journal.contract import PAGE_BYTES, PAGE_ROWS, Direction, Entry, StoredEntry

T = TypeVar("T")

_HOUSEKEEPING = tuple(
    b'{"hub":"%b"' % name for name in (b"bound", b"gist", b"heard", b"loading", b"owned", b"released")
)
"""How a hub's notes begin that say which process or node has a session, and not what was done in it."""


class FrameLines(Sequence[bytes]):
    """Frames without newlines, as a text with one newline after each; split on demand."""

    __slots__ = ("_count", "_split", "text")

    def __init__(self, text: bytes, count: int) -> None:
        self.text = text
        self._count = count
        self._split: list[bytes] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        if self._split is None:
            self._split = self.text.split(b"\n")
            self._split.pop()
        return self._split[place]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self[:])


def text_of(frames: Sequence[bytes]) -> bytes:
    """Return frames without newlines, joined with a newline after each."""
    return frames.text if type(frames) is FrameLines else b"\n".join((*frames, b""))


def size_of(frames: Sequence[bytes]) -> int:
    """Return the size of all frames together."""
    return len(frames.text) - len(frames) if type(frames) is FrameLines else sum(map(len, frames))


def size_of_runs(runs: Iterable[FrameRun]) -> int:
    """Return the size of the frames of all runs."""
    size = 0
    for run in runs:
        frames = run.frames
        is_single = len(frames) == 1 and type(frames) is not FrameLines  # whose text is not taken apart
        size += len(frames[0]) if is_single else size_of(frames)
    return size


class FrameRun(NamedTuple):
    """Consecutive frames."""

    direction: Direction
    frames: Sequence[bytes]
    time: float
    pending: bool = False


class _Lazy(Sequence[T]):
    """A sequence that is made of runs when it is first looked at."""

    __slots__ = ("_items", "_size", "runs")

    def __init__(self, runs: Iterable[FrameRun]) -> None:
        self.runs = tuple(runs)
        self._items: list[T] | None = None
        size = 0  # a loop, here and below: mostly there is one run, and a generator costs more than the sum
        for run in self.runs:
            size += len(run.frames)
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if self._items is None:
            self._items = self._make()
        return self._items[place]

    def __iter__(self) -> Iterator[T]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # like any list

    def _make(self) -> list[T]:
        raise NotImplementedError

    @property
    def frames(self) -> list[bytes]:
        frames: list[bytes] = []
        for run in self.runs:
            frames += run.frames
        return frames


class EntryBatch(_Lazy[Entry]):
    """Entries to append. `state` becomes the state of their stream, if it was described before; None keeps
    the old state.
    """

    __slots__ = ("state",)

    def __init__(self, runs: Iterable[FrameRun], *, state: str = "") -> None:
        super().__init__(runs)
        self.state = state

    def _make(self) -> list[Entry]:
        return [
            Entry(run.direction, frame, run.time, run.pending) for run in self.runs for frame in run.frames
        ]


OnAppended: TypeAlias = Callable[[int, BaseException | None], None]
"""Called after an append with the sequence of the last entry, or with the error."""


class QueueAppend(Protocol):
    """The optional `try_queue_append` of a journal, for many callers: a task and a future for each would cost
    as much as the append.
    """

    def __call__(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        """Append, and call `on_done` in the event loop, later or, without a wait, before this returns. False
        if that is impossible now: then nothing has happened, and `append` must be used.
        """


def queue_of(journal: object) -> QueueAppend | None:
    """Return the journal's `try_queue_append`, if it has one."""
    queue: QueueAppend | None = getattr(journal, "try_queue_append", None)
    return queue


class RunPage(_Lazy[StoredEntry]):
    """Stored entries, the first of them at `first`."""

    __slots__ = ("first",)

    def __init__(self, first: int, runs: Iterable[FrameRun]) -> None:
        super().__init__(runs)
        self.first = first

    @property
    def last(self) -> int:
        return self.first + self._size - 1

    def _make(self) -> list[StoredEntry]:
        entries: list[StoredEntry] = []
        sequence = self.first
        for direction, frames, time, _ in self.runs:
            entries += [StoredEntry(at, direction, frame, time) for at, frame in enumerate(frames, sequence)]
            sequence += len(frames)
        return entries


def runs_of_entries(entries: Sequence[Entry]) -> EntryBatch:
    """Return entries of any kind by the run, in their current form."""
    if type(entries) is EntryBatch:
        return entries
    runs: list[FrameRun] = []
    frames: list[bytes] = []
    direction, moment, pending = "", 0.0, False
    for entry in entries:
        if entry.direction != direction or entry.time != moment or entry.pending != pending:
            frames = []
            direction, moment, pending = entry.direction, entry.time, entry.pending
            runs.append(FrameRun(entry.direction, frames, moment, pending))
        frames.append(entry.frame if type(entry.frame) is bytes else bytes(entry.frame))
    return EntryBatch(runs)


def runs_of(page: Sequence[StoredEntry]) -> Sequence[FrameRun]:
    """The entries of a page by the run."""
    if type(page) is RunPage:
        return page.runs
    return runs_of_entries([stored_entry.entry for stored_entry in page]).runs


def is_housekeeping(runs: Iterable[FrameRun]) -> bool:
    """Whether a hub wrote all of this for itself: neither a person nor an agent did anything."""
    return all(
        run.direction == "note" and all(frame.startswith(_HOUSEKEEPING) for frame in run.frames)
        for run in runs
    )


def at_most(run: FrameRun, count: int) -> FrameRun:
    return run if len(run.frames) <= count else FrameRun(run.direction, run.frames[:count], run.time)


def pages_of(first: int, runs: Iterable[FrameRun]) -> Iterator[RunPage]:
    """Cut the runs into pages; each page ends with the entry that reaches a limit."""
    page: list[FrameRun] = []
    rows = size = 0
    for run in runs:
        rest = run
        while rest.frames:
            part = at_most(rest, _count_fitting(rest.frames, PAGE_ROWS - rows, PAGE_BYTES - size))
            page.append(part)
            rows += len(part.frames)
            size += size_of(part.frames)
            if rows >= PAGE_ROWS or size >= PAGE_BYTES:
                yield RunPage(first, page)
                first, page, rows, size = first + rows, [], 0, 0
            rest = FrameRun(run.direction, () if part is rest else rest.frames[len(part.frames) :], run.time)
    if page:
        yield RunPage(first, page)


def _count_fitting(frames: Sequence[bytes], rows: int, size: int) -> int:
    """How many frames it takes to reach a bound; all of them if they reach none."""
    if size_of(frames) < size:
        return rows
    for place, frame in enumerate(frames, 1):
        size -= len(frame)
        if size <= 0 or place == rows:
            return place
    return rows


def first_of(page: Sequence[StoredEntry]) -> int:
    """Return the sequence of a page's first entry without creating it."""
    return page.first if type(page) is RunPage else page[0].sequence


def last_of(page: Sequence[StoredEntry]) -> int:
    return page.last if type(page) is RunPage else page[-1].sequence
