"""Search in an encrypted journal: it reads the entries, because a word index would reveal their text.

The latest streams come first, and their passages as they were said. What is read for one search is bounded:
behind the bound nothing is found, and the log says so.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from dragoman.errors import NoSuchStream
from dragoman_local.journal import streams
from dragoman_local.journal.contract import SearchHit, StreamInfo
from dragoman_local.journal.conversation import MomentFold
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.search_text import SEARCHED, excerpt, has_all, words_of
from dragoman_local.journal.tables import find_stream

log = logging.getLogger(__name__)

T = TypeVar("T")

SCANNED = 100_000
"""The most entries of one search: a few seconds of one thread."""

LISTED = 100


class RunInReader(Protocol):
    """Runs a question in a reading thread."""

    def __call__(self, question: Callable[[sqlite3.Connection], T], /) -> Awaitable[T]: ...


class _ScanResult(NamedTuple):
    hits: list[SearchHit]
    entries: int


async def scan(
    ask: RunInReader, seal: Seal, text: str, *, limit: int, stream: str | None, most: int = SCANNED
) -> Sequence[SearchHit]:
    """Return passages with all words of `text`, at most `limit`, from at most `most` entries."""
    if not words_of(text):
        return []
    hits: list[SearchHit] = []
    cursor: str | None = None
    remaining = most
    while True:
        names, cursor = await _names(ask, seal, stream, cursor)
        for name in names:
            question = partial(
                _scan, seal=seal, stream=name, text=text, limit=limit - len(hits), most=remaining
            )
            result: _ScanResult = await ask(question)
            hits += result.hits
            remaining -= result.entries
            if len(hits) >= limit:
                return hits
            if remaining <= 0:
                log.warning("a search ended after %d entries; older entries were not searched", most)
                return hits
        if cursor is None:
            return hits


async def _names(
    ask: RunInReader, seal: Seal, stream: str | None, cursor: str | None
) -> tuple[list[str], str | None]:
    if stream is not None:
        return [stream], None
    question: Callable[[sqlite3.Connection], Any] = partial(
        streams.listing, filters={}, cursor=cursor, limit=LISTED, seal=seal
    )
    listing = await ask(question)
    return [info.stream for info in listing.streams], listing.cursor


def _scan(
    connection: sqlite3.Connection, *, seal: Seal, stream: str, text: str, limit: int, most: int
) -> _ScanResult:
    row = find_stream(connection, streams.clean(stream), seal=seal)
    if row is None:
        raise NoSuchStream(stream)
    fold, hits, position = MomentFold(), list[SearchHit](), 0
    while len(hits) < limit and position < most:
        entries, damage = streams.page_of(connection, row, position, None, seal=seal)
        for entry in entries:
            hits += _hits(fold.add(entry), row.info, text)
        position += len(entries)
        if damage is not None or not entries:
            break  # what lies behind a damage cannot be vouched for
    hits += _hits(fold.finish(), row.info, text)
    return _ScanResult(hits[:limit], max(1, position))


def _hits(moments: Any, info: StreamInfo, text: str) -> list[SearchHit]:
    return [
        SearchHit(
            stream=info.stream,
            sequence=moment.first,
            kind=moment.kind,
            excerpt=excerpt(moment.search_text, text),
            title=info.title,
        )
        for moment in moments
        if moment.kind in SEARCHED and has_all(moment.search_text, text)
    ]
