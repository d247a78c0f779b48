"""Search: a word index on this node, built from the journal, which can be deleted at any time.

It lies in a SQLite file, which without a path has no name and goes with its process. What has changed is
seen by the number of records of each stream, which one request for each shard tells; what is new of these
streams is then read like any replay. That happens when somebody searches, for a bounded time and the latest
streams first, and now and then by itself with a small share of the loop.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from dragoman.errors import JournalClosed, JournalError, NoSuchStream
from dragoman_hub.nats.catalog import Catalog
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.layout import Layout, token_of
from dragoman_hub.nats.replies import NoReply, end_tasks
from dragoman_local.journal import sqlite_file, word_index
from dragoman_local.journal.contract import Page, SearchHit, StoredEntry, StreamInfo
from dragoman_local.journal.conversation import MomentFold
from dragoman_local.journal.streams import clean, delete, scrub
from dragoman_local.journal.tables import make_tables, passage_id, probe, write_stream
from dragoman_local.journal.writer import WriterThread

log = logging.getLogger(__name__)

CATCH_UP_SECONDS = 5.0
"""The seconds that a search waits for the index; then it answers with the existing part."""

BY_ITSELF_SECONDS = 60.0
SHARE = 4
"""How many times as long as it works the background indexing rests."""

STEP_ENTRIES = 5_000
AT_ONCE = 16
"""The streams to read at the same time: a short one mostly waits."""

PLACES = """create table if not exists places (
    token text primary key, number integer not null, records integer not null, upto integer not null,
    seen integer not null, created real not null
) without rowid"""


class IndexedStream(NamedTuple):
    """The indexed part of a stream: its number here, its number of records, and the last entry."""

    number: int
    records: int
    upto: int
    seen: int
    created: float


class NatsSearch:
    """The index of one node. `replay` reads the journal."""

    def __init__(
        self,
        jetstream: JetStream,
        layout: Layout,
        catalog: Catalog,
        replay: Callable[[str, int], AsyncIterator[Page]],
        *,
        path: Path | None,
    ) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._catalog = catalog
        self._replay = replay
        self._path = path
        self._indexed_streams: dict[str, IndexedStream] = {}
        self._removed_tokens: set[str] = set()
        self._opening: asyncio.Task[WriterThread] | None = None
        self._working = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._index_regularly(), name="nats index")

    def forget(self, token: str) -> None:
        """Forget a deleted stream; its words are removed before the next answer."""
        if token in self._indexed_streams:
            self._removed_tokens.add(token)

    async def search(self, text: str, *, limit: int, stream: str | None) -> Sequence[SearchHit]:
        await self._catalog.wait_until_loaded()
        if stream is not None and self._catalog.get(token_of(clean(stream))) is None:
            raise NoSuchStream(stream)
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                await self._catch_up(share=0)
        except (TimeoutError, NoReply):
            log.warning("the search answers before its index is complete")
        await self._forget_removed()
        writer = await self._open()
        try:
            hits = await writer.do(lambda base: word_index.search(base, text, limit=limit, stream=stream))
        except NoSuchStream:  # it is there, and nothing of it is indexed yet
            return []
        return [replace(hit, title=info.title) for hit in hits if (info := self._info(hit)) is not None]

    async def aclose(self) -> None:
        await end_tasks([self._task])
        if self._opening is not None:
            await asyncio.wait([self._opening])
            if self._opening.exception() is None:
                await self._opening.result().aclose()

    def _info(self, hit: SearchHit) -> StreamInfo | None:
        return self._catalog.get(token_of(hit.stream))

    async def _index_regularly(self) -> None:
        while True:
            await asyncio.sleep(BY_ITSELF_SECONDS)
            try:
                await self._catch_up(share=SHARE)
                await self._forget_removed()
            except (JournalError, TimeoutError) as error:
                log.debug("the index waits: %s", error)

    # Catching up.

    async def _catch_up(self, *, share: int) -> None:
        async with self._working:
            writer = await self._open()
            counts = await self._counts()
            behind = self._behind(counts)
            await self._forget_removed()
            for begin in range(0, len(behind), AT_ONCE):
                began = asyncio.get_running_loop().time()
                part = behind[begin : begin + AT_ONCE]
                work = [self._index(writer, token, info, counts[token]) for token, info in part]
                for outcome in await asyncio.gather(*work, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        raise outcome
                await asyncio.sleep(share * (asyncio.get_running_loop().time() - began))

    async def _counts(self) -> dict[str, int]:
        """How many records each stream has."""
        by_token: dict[str, int] = {}
        for number in range(self._layout.shards):
            head = f"{self._layout.prefix}.j.{number}."
            counts = await self._jetstream.counts(self._layout.shard(number), f"{head}>")
            by_token |= {subject[len(head) :]: count for subject, count in counts.items()}
        return by_token

    def _behind(self, counts: dict[str, int]) -> list[tuple[str, StreamInfo]]:
        """Streams of which something is not indexed, the latest first. Notes streams that were deleted."""
        behind: list[tuple[str, StreamInfo]] = []
        infos = dict(self._catalog.all())
        for token, stream in self._indexed_streams.items():
            info = infos.get(token)
            if info is None or info.created != stream.created:
                self._removed_tokens.add(token)
        for token, records in counts.items():
            info, stream_now = infos.get(token), self._indexed_streams.get(token)
            is_behind = token in self._removed_tokens or stream_now is None or stream_now.records != records
            if info is not None and is_behind:
                behind.append((token, info))
        behind.sort(key=lambda pair: pair[1].updated, reverse=True)
        return behind

    async def _index(self, writer: WriterThread, token: str, info: StreamInfo, records: int) -> None:
        stream = self._indexed_streams.get(token) or IndexedStream(0, 0, 0, 0, info.created)
        page: list[StoredEntry] = []
        try:
            async for next_page in self._replay(info.stream, stream.upto):
                page += next_page
                if len(page) >= STEP_ENTRIES:
                    stream = await self._take(writer, token, info, stream._replace(records=-1), page)
                    page = []
        except NoSuchStream:
            return
        except (JournalClosed, NoReply):  # nothing is wrong with the stream
            raise
        except JournalError as error:
            log.warning("a part of a stream cannot be searched: %s", error)
        await self._take(writer, token, info, stream._replace(records=records), page)

    async def _take(
        self,
        writer: WriterThread,
        token: str,
        info: StreamInfo,
        stream: IndexedStream,
        page: list[StoredEntry],
    ) -> IndexedStream:
        """Index a page. Whoever waits may lose patience; what is in the file is known here all the same."""

        async def take() -> IndexedStream:
            new_stream = await writer.do(lambda base: _index_page(base, token, info, stream, page))
            self._indexed_streams[token] = new_stream
            return new_stream

        taking = asyncio.get_running_loop().create_task(take())
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait([taking])
            raise

    async def _forget_removed(self) -> None:
        if self._removed_tokens:
            writer = await self._open()
            tokens, self._removed_tokens = self._removed_tokens, set()
            names = [(token, self._indexed_streams.pop(token, None)) for token in tokens]
            numbers = [(token, stream.number) for token, stream in names if stream is not None]
            await writer.do(lambda base: _forget(base, numbers))
            await writer.do(scrub, alone=True)

    # The file.

    async def _open(self) -> WriterThread:
        """Whoever loses patience while the file is opened does not stop the opening."""
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.get_running_loop().create_task(
                self._open_file(), name="nats index opening"
            )
        return await asyncio.shield(self._opening)

    async def _open_file(self) -> WriterThread:
        writer = _writer(self._path)
        await writer.start()
        self._indexed_streams = await writer.do(_load)
        return writer


def _writer(path: Path | None) -> WriterThread:
    def connect() -> sqlite3.Connection:
        if path is None:
            return _connect_nameless()
        try:
            return _connect(path)
        except sqlite3.DatabaseError:  # it can be made again
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)
            return _connect(path)

    def close(connection: sqlite3.Connection | None) -> None:
        if connection is not None:
            connection.close()

    label = path or Path("the index of words")
    return WriterThread(
        connect, explain=lambda error: sqlite_file.explain(error, label), close=close, name="nats index"
    )


def _connect(path: Path) -> sqlite3.Connection:
    sqlite_file.make_file(path)
    connection = sqlite_file.connect_writer(path, "off", sqlite_file.BUSY_SECONDS)
    connection.execute(PLACES)
    probe(connection)
    return connection


def _connect_nameless() -> sqlite3.Connection:
    """Open a file without a name, which SQLite hides and which is gone when the process ends."""
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    make_tables(connection)
    connection.execute(PLACES)
    return connection


def _load(connection: sqlite3.Connection) -> dict[str, IndexedStream]:
    rows = connection.execute("select token, number, records, upto, seen, created from places")
    return {token: IndexedStream(*rest) for token, *rest in rows.fetchall()}


def _index_page(
    connection: sqlite3.Connection,
    token: str,
    info: StreamInfo,
    stream: IndexedStream,
    entries: Sequence[StoredEntry],
) -> IndexedStream:
    """Index entries behind what is known. A passage that is still open is indexed as far as it goes, and
    again from where it began when its stream has grown.
    """
    number = stream.number or write_stream(connection, None, StreamInfo(stream=info.stream)).number
    _, end = word_index.rows_of(number)
    begin = passage_id(number, stream.upto + 1)
    connection.execute("delete from words where rowid between ? and ?", (begin, end))
    fold = MomentFold()
    for entry in entries:
        for moment in fold.add(entry):
            word_index.store_passage(connection, number, moment)
    began = fold.open_since
    for moment in fold.finish():
        word_index.store_passage(connection, number, moment)
    position = entries[-1].sequence if entries else stream.upto
    is_unfinished = stream.records < 0 and began is not None and began - 1 <= stream.upto
    mark = position if began is None or is_unfinished else began - 1
    new_stream = IndexedStream(number, stream.records, mark, max(mark, position), info.created)
    connection.execute("replace into places values (?, ?, ?, ?, ?, ?)", (token, *new_stream))
    return new_stream


def _forget(connection: sqlite3.Connection, numbers: Sequence[tuple[str, int]]) -> None:
    for token, number in numbers:
        connection.execute("delete from places where token = ?", (token,))
        row = connection.execute("select stream from streams where number = ?", (number,)).fetchone()
        if row is not None:
            delete(connection, row[0])
