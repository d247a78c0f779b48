"""A few reading threads with connections of their own, so that readers never wait for the writer.

All connections are opened with the journal. One that is opened later would read another file, if the file of
the journal was replaced since, or none, if it was deleted.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dragoman.errors import JournalClosed, JournalError
from dragoman_local.journal.sqlite_file import Refusal

T = TypeVar("T")

THREADS = 3
"""The number of threads. Reading is short and mostly from memory; more threads would only wait for each
other.
"""


class Readers:
    """A pool of reading threads, a connection for each of them, and one for the thread that asks."""

    def __init__(self, *, explain: Callable[[Refusal], JournalError], name: str) -> None:
        self._explain = explain
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix=name)
        self._connections: list[sqlite3.Connection] = []
        self._unused: deque[sqlite3.Connection] = deque()  # as many as threads that have no question
        self._closing = False

    def open(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """Open every connection; called before the first question, from a thread that may wait."""
        try:
            for _ in range(1 + THREADS):
                self._connections.append(connect())
                self._connections[-1].execute("pragma schema_version").fetchone()  # opens the log, too
        except BaseException:
            self._close_connections()
            raise
        self._connections[0].execute("pragma busy_timeout = 0")
        self._unused.extend(self._connections[1:])

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Run `question` in one of the threads; all its statements see the same state of the file."""
        if self._closing:
            raise JournalClosed("the journal is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, question)

    async def ask_here(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Run it in the caller's thread, for a question with one statement that reads a few pages: waking
        another thread takes ten times as long. Slow reads are left to the threads.
        """
        if self._closing:
            raise JournalClosed("the journal is closed")
        try:
            return question(self._connections[0])
        except sqlite3.Error:
            return await self.ask(question)

    def stop(self) -> None:
        """Accept no more questions."""
        self._closing = True

    def close(self) -> None:
        """Wait for the threads; call it from a thread that may wait."""
        self._closing = True
        self._pool.shutdown(wait=True)
        self._close_connections()

    def _close_connections(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _answer(self, question: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._unused.pop()
        try:
            connection.execute("begin")
            try:
                return question(connection)
            finally:
                connection.rollback()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain(error) from None
        finally:
            self._unused.append(connection)
