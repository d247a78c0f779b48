"""The only thread that writes: it commits all waiting entries together.

A commit waits for the disk, so the cost of one is shared by all who asked meanwhile: each gets its own
result, and all get it after the same commit. If a shared commit fails, each is tried alone, so that nobody
fails for another's sake. If it is the sync that fails, what was written may stand in the file after a crash:
then nobody is told that it was refused. What is queued is bounded in bytes; whoever asks for more waits.

Where no commit waits for the disk, a small one that nobody else is in front of is done in the caller's own
thread: to wake another one and to be woken by it takes longer than the commit.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from dragoman.errors import JournalClosed, JournalError, JournalUncertain
from dragoman_local.journal.sqlite_file import Refusal, without_memory

T = TypeVar("T")

log = logging.getLogger(__name__)

QUEUED_BYTES = 16 * 1024 * 1024
"""The bytes above which appends wait: more would only fill memory."""

HERE_BYTES = 16 * 1024
"""The most bytes to write in the caller's thread, which has other work."""

BATCH_ROWS = 4096
"""The rows of one commit. Above a few thousand the commit itself no longer matters, and others wait."""

TOLD_ROWS = 256
"""The rows after whose commit the loop runs other tasks: their effects take a few milliseconds."""


class WriteJob(Generic[T]):
    """Work for the writer's thread. `alone` means that it commits by itself. `on_done` is called in the loop
    with the result when the work is committed or refused.
    """

    __slots__ = ("alone", "error", "is_uncertain", "on_done", "result", "rows", "size", "work")

    def __init__(
        self,
        work: Callable[[sqlite3.Connection], T],
        on_done: Callable[[Any, BaseException | None], None],
        *,
        size: int = 0,
        rows: int = 1,
        alone: bool = False,
    ) -> None:
        self.work = work
        self.on_done = on_done
        self.size = size
        self.rows = rows
        self.alone = alone
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_uncertain = False  # whether it may be in the file although a commit failed


AnyJob: TypeAlias = WriteJob[Any]
"""A job with any result, which the queue does not use."""

Commit: TypeAlias = Callable[[sqlite3.Connection, list[AnyJob]], None]


class WriterThread:
    """Runs jobs in order. The thread begins with `open_`, which creates the connection, and ends with
    `close`.

    A job raises a `JournalError` before it writes anything, or not at all.
    """

    def __init__(
        self,
        open_: Callable[[], sqlite3.Connection],
        *,
        explain: Callable[[Refusal], JournalError],
        close: Callable[[sqlite3.Connection | None], None],
        name: str,
        waits: bool = True,
        check: Callable[[sqlite3.Connection], None] = lambda _: None,
    ) -> None:
        """`waits` tells whether a commit waits for the disk; `check` raises `JournalError` if it must not."""
        self._waits = waits
        self._check = check
        self._connection: sqlite3.Connection | None = None  # for whoever need not wait
        self._open_jobs = 0  # jobs that the thread has, or will have
        self._open = open_
        self._explain = explain
        self._close = close
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[AnyJob | None] = SimpleQueue()
        self._queued_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._open_future: asyncio.Future[None] = self._loop.create_future()
        self._end_future: asyncio.Future[None] = self._loop.create_future()
        self._done_jobs: deque[AnyJob] = deque()  # that are committed, and of which somebody is to be told
        self._closing = False
        self._next_job: AnyJob | None = None  # taken from the queue, and to be run by itself next
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    async def start(self) -> None:
        """Start the thread; return when the file is open, or raise its error."""
        self._thread.start()
        try:
            await asyncio.shield(self._open_future)
        except asyncio.CancelledError:
            await self.aclose()
            raise

    async def do(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        size: int = 0,
        rows: int = 1,
        alone: bool = False,
    ) -> T:
        """Run `work` in the thread and wait until it is committed."""
        while self._queued_bytes > QUEUED_BYTES and not self._closing:
            self._room.clear()
            await self._room.wait()
        if self._closing:
            raise JournalClosed("the journal is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        job = WriteJob(work, partial(_settle, future), size=size, rows=rows, alone=alone)
        if self._waits or self._open_jobs or alone or size > HERE_BYTES or not self._run_here(job):
            self._put(job)
        return await future

    def try_queue(
        self,
        work: Callable[[sqlite3.Connection], T],
        on_done: Callable[[Any, BaseException | None], None],
        *,
        size: int,
        rows: int,
    ) -> bool:
        """Do the same as `do` for a caller with a callback at the commit, before this returns if no commit
        waits for the disk. False if the caller must wait first: then nothing is done.
        """
        if self._closing or self._queued_bytes > QUEUED_BYTES:
            return False
        job = WriteJob(work, on_done, size=size, rows=rows)
        if self._waits:
            self._put(job)
            return True
        return not self._open_jobs and size <= HERE_BYTES and self._run_here(job)

    def _put(self, job: AnyJob) -> None:
        self._queued_bytes += job.size
        self._open_jobs += 1
        self._queue.put(job)

    def _run_here(self, job: AnyJob) -> bool:
        """Run a job at once, while the thread has nothing to do and so does not touch its connection; says
        whether it ran. It does not if another process writes at this moment: the thread waits for that.
        """
        connection = self._connection
        if connection is None:
            return False
        try:
            self._check(connection)
            connection.execute("begin immediate")
        except JournalError as error:
            job.error = error
            _tell(job)
            return True
        except sqlite3.OperationalError:
            return False
        try:
            job.result = job.work(connection)
            connection.execute("commit")
        except Exception as error:  # noqa: BLE001  # whoever waits is told
            self._fail(connection, [job], error)
        _tell(job)
        return True

    async def aclose(self) -> None:
        """Finish the waiting jobs, and end the thread."""
        if not self._closing:
            self._closing = True
            self._room.set()
            self._queue.put(None)
        await asyncio.shield(self._end_future)

    # In the thread.

    def _run(self) -> None:
        connection = None
        try:
            connection = self._open()
        except BaseException as error:  # noqa: BLE001  # handed to whoever opens
            self._call_in_loop(_settle, self._open_future, None, self._explain_error(error))
        else:
            commit = self._commit if self._waits else self._patiently(connection)
            self._call_in_loop(_settle, self._open_future, None)
            while batch := self._next_batch():
                commit(connection, batch)
                self._call_in_loop(self._finish, batch)
        finally:
            self._close(connection)
            self._call_in_loop(self._end)

    def _patiently(self, connection: sqlite3.Connection) -> Commit:
        """Commits of this thread where others commit too: only it has time to wait for other processes."""
        patience = int(connection.execute("pragma busy_timeout").fetchone()[0])
        connection.execute("pragma busy_timeout = 0")
        self._connection = connection

        def commit(connection: sqlite3.Connection, batch: list[AnyJob]) -> None:
            connection.execute(f"pragma busy_timeout = {patience}")
            self._commit(connection, batch)
            connection.execute("pragma busy_timeout = 0")

        return commit

    def _next_batch(self) -> list[AnyJob]:
        """The jobs in the queue, up to one that commits by itself; an empty list at the end."""
        job = self._next_job or self._queue.get()
        self._next_job = None
        batch: list[AnyJob] = []
        rows = 0
        while job is not None:
            batch.append(job)
            rows += job.rows
            if job.alone or rows >= BATCH_ROWS or self._queue.empty():  # nobody else takes from the queue
                return batch
            job = self._queue.get_nowait()
            if job is not None and job.alone:
                self._next_job = job
                return batch
        if batch:
            self._queue.put(None)  # the end comes after this batch
        return batch

    def _commit(self, connection: sqlite3.Connection, batch: list[AnyJob]) -> None:
        try:
            self._check(connection)
            if batch[0].alone:
                batch[0].result = batch[0].work(connection)
            else:
                _run_together(connection, batch)
        except Exception as error:  # noqa: BLE001  # one failed job must not end the thread of all
            self._fail(connection, batch, error)
            if len(batch) > 1:
                for job in batch:
                    self._commit(connection, [job])

    def _fail(self, connection: sqlite3.Connection, batch: list[AnyJob], error: Exception) -> None:
        """Note for each job of a transaction how it failed, and undo what can be undone."""
        if connection.in_transaction:
            connection.rollback()
        reason = self._explain_error(error)
        for job in batch:
            job.is_uncertain = job.is_uncertain or _may_stand(error)
            is_unknown = job.is_uncertain and isinstance(error, Refusal)
            job.error = JournalUncertain(f"{reason}; it may be stored all the same") if is_unknown else reason

    def _explain_error(self, error: BaseException) -> BaseException:
        if isinstance(error, MemoryError):
            return without_memory()
        return self._explain(error) if isinstance(error, Refusal) else error

    def _call_in_loop(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # the loop is gone, and with it whoever would have waited

    # In the loop.

    def _finish(self, batch: list[AnyJob]) -> None:
        is_idle = not self._done_jobs
        self._done_jobs.extend(batch)
        for job in batch:
            self._queued_bytes -= job.size
        if is_idle:
            self._tell_some()
        if self._queued_bytes <= QUEUED_BYTES:
            self._room.set()

    def _tell_some(self) -> None:
        """Inform callers about a commit, a few at a time, so that others need not wait long."""
        rows = 0
        while self._done_jobs and rows < TOLD_ROWS:
            job = self._done_jobs.popleft()
            rows += job.rows
            self._open_jobs -= 1
            _tell(job)
        if self._done_jobs:
            self._loop.call_soon(self._tell_some)

    def _end(self) -> None:
        """End when all callers are informed."""
        if self._done_jobs:
            self._loop.call_soon(self._end)
        else:
            _settle(self._end_future, None)


def _tell(job: AnyJob) -> None:
    try:
        job.on_done(job.result, job.error)
    except Exception:  # what goes wrong with one must not keep the others from what is theirs
        log.exception("what follows from a commit failed")


def _may_stand(error: Exception) -> bool:
    """Whether what was to be committed may be complete in the file. SQLite writes the mark of a commit last,
    and then syncs: before that, errors are those of reading and writing.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_IOERR and code not in _BEFORE_THE_MARK


_BEFORE_THE_MARK = (
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSTAT,
)


def _settle(future: asyncio.Future[Any], result: object, error: BaseException | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _run_together(connection: sqlite3.Connection, batch: list[AnyJob]) -> None:
    connection.execute("begin immediate")
    for job in batch:
        job.error = None
        try:
            job.result = job.work(connection)
        except JournalError as error:  # refused before anything was written: the others go on
            job.error = error
    connection.execute("commit")
