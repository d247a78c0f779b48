"""The journal in one SQLite file, for one machine: any number of streams, readers and processes.

One thread writes and commits what has gathered together; a few threads read, and never wait for it. What was
acknowledged is on disk as the durability says. Every row is checked when it is read: what was changed on
disk is an error or is left out, and never served. A file that cannot be opened because it is damaged is set
aside, and what can be read of it goes into a new one; `salvage` then says what happened.

It stores frames as they come, except that known secrets are made unreadable first (see `redaction`), and all
of it if there is a key (see `sealed`).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

from dragoman.errors import JournalClosed, JournalDamaged, JournalError, NotAJournal
from dragoman_local.journal import key_index, key_index_build, originals, sqlite_file, streams, word_index
from dragoman_local.journal.contract import (
    Durability,
    Entry,
    KeyEntries,
    Page,
    SearchHit,
    StoredEntry,
    StreamInfo,
    StreamListing,
)
from dragoman_local.journal.entry_runs import EntryBatch, FrameRun, OnAppended, runs_of_entries, size_of_runs
from dragoman_local.journal.file_exchange import recover
from dragoman_local.journal.file_watch import FileWatch
from dragoman_local.journal.readers import Readers
from dragoman_local.journal.redaction import redact as redact_secrets
from dragoman_local.journal.redaction import redact_runs
from dragoman_local.journal.salvage import Salvage, is_ours, set_aside
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.sealed_file import check_mark
from dragoman_local.journal.sealed_search import scan
from dragoman_local.journal.tables import StreamEnd, probe
from dragoman_local.journal.writer import WriterThread

LARGE_BYTES = 512 * 1024
"""The size above which an append is redacted before its turn to be written, in another thread: searching a
large text takes many times as long as writing it, and later appends would wait.
"""


def open_journal(
    path: str | os.PathLike[str],
    *,
    durability: Durability = "full",
    redact: Callable[[bytes], bytes] | None = redact_secrets,
    busy_seconds: float = sqlite_file.BUSY_SECONDS,
) -> SqliteJournal:
    """Use `async with open_journal(path) as journal:`; nothing is opened or created before the block."""
    return SqliteJournal(path, durability=durability, redact=redact, busy_seconds=busy_seconds)


def open_sealed(
    path: str | os.PathLike[str],
    key: bytes,
    *,
    durability: Durability = "full",
    redact: Callable[[bytes], bytes] | None = redact_secrets,
    busy_seconds: float = sqlite_file.BUSY_SECONDS,
) -> SqliteJournal:
    """Use `async with open_sealed(path, key) as journal:`; an existing file must be sealed with this key."""
    return SqliteJournal(
        path, durability=durability, redact=redact, busy_seconds=busy_seconds, seal=Seal(key)
    )


class SqliteJournal:
    """A journal over one file. It belongs to the event loop in which it was entered."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        redact: Callable[[bytes], bytes] | None = redact_secrets,
        busy_seconds: float = sqlite_file.BUSY_SECONDS,
        clock: Callable[[], float] = time.time,
        seal: Seal | None = None,
    ) -> None:
        if durability not in sqlite_file.SYNCHRONOUS:
            raise JournalError(f"no durability {durability!r}: choose full, normal or off")
        self.path = Path(path)
        self.salvage: Salvage | None = None
        """What was saved from a damaged file when this one was opened; None if it was sound."""
        self.appends = 0
        """How often somebody has appended here. Other processes may append too."""
        self.has_residue = False
        """Whether text of deleted streams may still be in the file; see `scrub`."""
        self._deletions = self._last_swept = 0
        self._sweeping = asyncio.Lock()
        self._durability = durability
        self._redact = redact
        self._busy_seconds = busy_seconds
        self._clock = clock
        self._seal = seal
        self._ends: dict[str, StreamEnd] = {}  # the writer's
        self._lock = sqlite_file.FolderLock(self.path)
        # Where no commit waits for the disk, a look at each would cost more than the commit.
        self._watch = FileWatch(self.path, interval=1.0 if durability == "off" else 0.0)
        self._writer: WriterThread | None = None
        self._readers: Readers | None = None

    async def __aenter__(self) -> SqliteJournal:
        if self._writer is not None:
            raise JournalClosed("a journal is opened once")
        name = f"journal {self.path.name}"
        self._readers = Readers(explain=self._explain, name=name)
        self._writer = WriterThread(
            self._open,
            explain=self._explain,
            close=self._close,
            name=name,
            waits=self._durability != "off",
            check=self._watch.check,
        )
        await self._writer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._writer is not None and self._readers is not None:
            self._readers.stop()
            await self._writer.aclose()

    # The contract.

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self.appends += 1
        batch = runs_of_entries(entries)
        text = size_of_runs(batch.runs)
        redacted_runs: Sequence[FrameRun] | None = None
        if self._redact is not None and text > LARGE_BYTES:
            try:
                redacted_runs = await asyncio.to_thread(redact_runs, batch, self._redact)
            except MemoryError as error:
                raise sqlite_file.without_memory() from error
        work = self._append_work(stream, batch, after, redacted_runs)
        return await self._write.do(work, size=text + 64 * len(batch), rows=len(batch))

    def try_queue_append(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        text = size_of_runs(batch.runs)
        if text > LARGE_BYTES:
            return False
        work, count = self._append_work(stream, batch, after), len(batch)
        is_queued = self._write.try_queue(work, on_done, size=text + 64 * count, rows=count)
        self.appends += is_queued
        return is_queued

    def _append_work(
        self,
        stream: str,
        batch: EntryBatch,
        after: int | None,
        redacted_runs: Sequence[FrameRun] | None = None,
    ) -> Callable[[sqlite3.Connection], int]:
        redact, now, seal = self._redact, self._clock, self._seal
        ends = self._ends if seal is None else None

        def work(connection: sqlite3.Connection) -> int:
            return streams.append(
                connection,
                stream,
                batch,
                after=after,
                redact=redact,
                redacted_runs=redacted_runs,
                now=now(),
                seal=seal,
                ends=ends,
            )

        return work

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        remaining = limit
        while remaining is None or remaining > 0:
            question = partial(streams.page, stream=stream, after=after, limit=remaining, seal=self._seal)
            page, damage = await self._read.ask(question)
            if page:
                yield page
                after = page.last
            if damage is not None:
                raise damage
            if not page:
                return
            remaining = None if remaining is None else remaining - len(page)

    async def first_entries(self, names: Sequence[str]) -> dict[str, StoredEntry]:
        return await self._read.ask(lambda base: streams.first_entries(base, names, seal=self._seal))

    async def info(self, stream: str) -> StreamInfo | None:
        return await self._read.ask(lambda base: streams.info(base, stream, seal=self._seal))

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
        if title is not None and self._redact is not None:
            title = self._redact(title.encode(errors="replace")).decode(errors="replace")
        fields = {"agent": agent, "cwd": cwd, "title": title, "state": state, "session": session}
        changes = {name: value for name, value in fields.items() if value is not None}
        seal, ends = self._seal, self._ends if self._seal is None else None
        return await self._write.do(
            lambda base: streams.describe(base, stream, changes, now=self._clock(), seal=seal, ends=ends)
        )

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
        fields = {"agent": agent, "cwd": cwd, "state": state, "session": session}
        filters = {name: value for name, value in fields.items() if value is not None}
        return await self._read.ask(
            lambda base: streams.listing(base, filters, cursor=cursor, limit=limit, seal=self._seal)
        )

    async def search(self, text: str, *, limit: int = 20, stream: str | None = None) -> Sequence[SearchHit]:
        """Search after bringing the index up to date, which reads the new entries since the last search. A
        sealed journal has no index: its entries are read, the latest streams first.
        """
        if self._seal is not None:
            return await scan(self._read.ask, self._seal, text, limit=limit, stream=stream)
        try:
            return await self._search(text, limit, stream)
        except JournalError as error:
            if type(error) not in (JournalError, JournalDamaged):
                raise
            await self._write.do(word_index.rebuild)  # the index is made from the entries: make it again
            return await self._search(text, limit, stream)

    async def _search(self, text: str, limit: int, stream: str | None) -> Sequence[SearchHit]:
        while await self._write.do(word_index.catch_up):
            pass  # in steps, so that whoever appends meanwhile does not wait for all of it
        return await self._read.ask(lambda base: word_index.search(base, text, limit=limit, stream=stream))

    async def index_words(self, *, most: int, spare: int = 0) -> bool:
        """Index about this many new entries, unless no more than `spare` are missing; return true if there
        are more.
        """
        if self._seal is not None:
            return False
        return await self._write.do(partial(word_index.catch_up, most=most, spare=spare))

    async def find_key(self, stream: str, key: str) -> KeyEntries | None:
        name, seal = streams.clean(stream), self._seal
        while True:
            entries, is_unmade = await self._read.ask_here(
                partial(key_index.find, stream=name, key=key, seal=seal)
            )
            if not is_unmade:
                return entries
            await self._write.do(lambda base: key_index_build.build(base, name, seal=seal))

    async def find_stream_by_key(self, key: str) -> str | None:
        return await self._read.ask(
            lambda base: key_index.find_stream_by_key(base, streams.clean(key), seal=self._seal)
        )

    async def delete(self, stream: str) -> bool:
        """Delete streams. Deletions at the same time share the work after them, which takes as long as the
        word index is large. `scrub` removes their remains from the file.
        """
        was_deleted = await self._write.do(lambda base: streams.delete(base, stream))
        if was_deleted:
            self.has_residue = True
            self._deletions += 1
            number = self._deletions
            async with self._sweeping:
                if self._last_swept < number:
                    number = self._deletions
                    await self._write.do(streams.forget_traces, alone=True)
                    self._last_swept = number
        return was_deleted

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    async def scrub(self) -> bool:
        """Rewrite the file if anything was deleted since the last time; return whether it was. Appends wait
        in the meantime: about a second for 100 MB.
        """
        if not self.has_residue:
            return False
        await self._write.do(streams.scrub, alone=True)
        self.has_residue = False
        return True

    async def originals(self, stream: str) -> Mapping[int, bytes]:
        return await self._read.ask(lambda base: originals.read(base, streams.clean(stream), seal=self._seal))

    async def drop_originals(self, stream: str, sequences: Iterable[int]) -> None:
        """Drop originals after a check, which needs no commit: mostly there are none."""
        name, wanted_sequences = streams.clean(stream), list(sequences)
        if await self._read.ask_here(partial(originals.has_any, stream=name, sequences=wanted_sequences)):
            await self._write.do(lambda base: originals.drop(base, name, wanted_sequences))
            await self._write.do(streams.empty_log, alone=True)

    async def drop_originals_before(self, time: float) -> int:
        count = await self._write.do(lambda base: originals.drop_before(base, time))
        if count:
            await self._write.do(streams.empty_log, alone=True)
        return count

    # In the writer's thread.

    def _open(self) -> sqlite3.Connection:
        if self.path.exists() and not self.path.is_file():
            raise JournalError(f"{self.path} is not a file")
        was_journal = self._lock.path.exists()  # then this was a journal, whatever it looks like now
        self.path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        self._lock.share()
        recover(self.path, self._lock, within=self._busy_seconds)
        sqlite_file.make_file(self.path)
        try:
            return self._connect()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not sqlite_file.is_damage(error):
                raise
            if not was_journal and not is_ours(self.path):
                self._lock.forget()
                raise
        except NotAJournal:
            if not was_journal:
                self._lock.forget()
            raise
        self.salvage = set_aside(self.path, self._lock, seal=self._seal)
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite_file.connect_writer(self.path, self._durability, self._busy_seconds)
        try:
            probe(connection)
            check_mark(connection, self._seal, name=str(self.path))
            self.has_residue = streams.has_residue(connection)
            sqlite_file.close_to_others(self.path)
            self._watch.start()
            self._read.open(lambda: sqlite_file.connect_reader(self.path, self._busy_seconds))
        except BaseException:
            connection.close()
            raise
        return connection

    def _close(self, connection: sqlite3.Connection | None) -> None:
        if self._readers is not None:
            self._readers.close()
        if connection is not None:
            connection.close()  # the last one moves what is in the log into the file
        self._lock.release()

    def _explain(self, error: sqlite_file.Refusal) -> JournalError:
        return sqlite_file.explain(error, self.path)

    @property
    def _write(self) -> WriterThread:
        if self._writer is None:
            raise JournalClosed("the journal has not been opened")
        return self._writer

    @property
    def _read(self) -> Readers:
        if self._readers is None:
            raise JournalClosed("the journal has not been opened")
        return self._readers
