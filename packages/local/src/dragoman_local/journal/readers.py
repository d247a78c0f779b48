"""A few reading threads, each with its own connection, so that readers never wait for the writer."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
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
    """A pool of reading threads, created together with their connections at the first query."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        *,
        explain: Callable[[Refusal], JournalError],
        name: str,
    ) -> None:
        self._connect = connect
        self._explain = explain
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix=name)
        self._mine = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._here: sqlite3.Connection | None = None  # of the thread that asks
        self._closing = False

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
        if self._here is None:
            self._here = self._connect()
            self._here.execute("pragma busy_timeout = 0")
            self._connections.append(self._here)
        try:
            return question(self._here)
        except sqlite3.Error:
            return await self.ask(question)

    def stop(self) -> None:
        """Accept no more questions."""
        self._closing = True

    def close(self) -> None:
        """Wait for the threads; call it from a thread that may wait."""
        self._closing = True
        self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _answer(self, question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._connection()
            connection.execute("begin")
            try:
                return question(connection)
            finally:
                connection.rollback()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain(error) from None

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._connect()
            self._connections.append(connection)
        return connection
