"""The word index: built from the entries at the first search, or in steps before it, and rebuilt if it is
damaged.

Whoever appends does not pay for it. An index row is a passage: what one speaker said in one go. A passage at
the end of a stream may still be growing, so the index remembers where it began and reads from there again.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any

from dragoman.errors import JournalDamaged, NoSuchStream
from dragoman_local.journal.contract import SearchHit
from dragoman_local.journal.conversation import Moment, MomentFold
from dragoman_local.journal.search_text import SEARCHED, excerpt, match_expression, space_words, unspace_words
from dragoman_local.journal.streams import clean, page_of
from dragoman_local.journal.tables import (
    SELECT,
    WORDS,
    StreamRow,
    find_stream,
    passage_id,
    passage_sum,
    read_stream,
)

log = logging.getLogger(__name__)

STEP_ENTRIES = 5_000
"""The entries of one step, which is one commit."""

SHADOWS = ("words_data", "words_idx", "words_content", "words_docsize", "words_config")
"""The tables of the index, with the names that FTS5 gives them."""

BEHIND = """
select streams.number, coalesce(upto, 0), last - coalesce(seen, 0) as missing from streams
left join indexed on indexed.number = streams.number where missing > 0 order by missing desc
"""

SEARCH = """
select rowid, text, kind, sum from words where words match ? and rowid between ? and ? order by rank limit ?
"""


def catch_up(connection: sqlite3.Connection, *, most: int = STEP_ENTRIES, spare: int = 0) -> bool:
    """Index about this many new entries; return true if there are more. If no more than `spare` are missing,
    they stay. The stream that is furthest behind comes first: its last passage is read again, even for small
    additions.
    """
    remaining = most
    behind = connection.execute(BEHIND).fetchall()
    if sum(missing for _, _, missing in behind if isinstance(missing, int)) <= spare:
        return False
    for number, upto, _ in behind:
        row = _stream(connection, number)
        if row is not None and isinstance(upto, int):
            remaining -= _index(connection, row, upto=upto, most=remaining)
        if remaining <= 0:
            return True
    return False


def rebuild(connection: sqlite3.Connection) -> None:
    """Start again with an empty index.

    A damaged index cannot even be dropped, so the tables behind it get what those of a new one hold.
    """
    fresh = sqlite3.connect(":memory:")
    fresh.execute(WORDS)
    for table in SHADOWS:
        connection.execute(f"delete from {table}")  # noqa: S608  # the names are ours
        for row in fresh.execute(f"select * from {table}"):  # noqa: S608
            marks = ", ".join("?" * len(row))
            connection.execute(f"insert into {table} values ({marks})", row)  # noqa: S608
    fresh.close()
    connection.execute("delete from indexed")


def search(
    connection: sqlite3.Connection, text: str, *, limit: int, stream: str | None
) -> Sequence[SearchHit]:
    query = match_expression(clean(text))
    if query is None:
        return []
    bounds = passage_id(0, 0), passage_id(1 << 30, 0)
    if stream is not None:
        row = find_stream(connection, clean(stream))
        if row is None:
            raise NoSuchStream(stream)
        bounds = rows_of(row.number)
    rows = connection.execute(SEARCH, (query, *bounds, limit)).fetchall()
    return [hit for row in rows if (hit := _read(connection, row, text)) is not None]


def _index(connection: sqlite3.Connection, row: StreamRow, *, upto: int, most: int) -> int:
    """Index a part of a stream; returns how many entries that took."""
    number, last = row.number, row.info.last
    _, end = rows_of(number)
    connection.execute("delete from words where rowid between ? and ?", (passage_id(number, upto + 1), end))
    fold, position = MomentFold(), upto
    while position < last and position - upto < most:
        entries, damage = page_of(connection, row, position, None)
        for entry in entries:
            for moment in fold.add(entry):
                store_passage(connection, number, moment)
        # What lies behind a damage cannot be vouched for, and is not searched.
        position = last if damage or not entries else entries[-1].sequence
    began = fold.open_since
    for moment in fold.finish():
        store_passage(connection, number, moment)
    # A passage that was still open is indexed as far as it goes, and again when its stream has grown.
    mark = position if began is None or (began - 1 <= upto and position < last) else began - 1
    connection.execute("replace into indexed values (?, ?, ?)", (number, mark, max(mark, position)))
    return max(1, position - upto)


def _stream(connection: sqlite3.Connection, number: int) -> StreamRow | None:
    """A stream, if its row is as it was written."""
    row = connection.execute(SELECT + "where number = ?", (number,)).fetchone()
    try:
        return None if row is None else read_stream(row)
    except JournalDamaged as damage:
        log.warning("left out of a search: %s", damage)
        return None


def store_passage(connection: sqlite3.Connection, number: int, moment: Moment) -> None:
    if moment.kind in SEARCHED:
        rowid, text = passage_id(number, moment.first), space_words(clean(moment.search_text))
        connection.execute(
            "insert into words (rowid, text, kind, sum) values (?, ?, ?, ?)",
            (rowid, text, moment.kind, passage_sum(rowid, moment.kind, text)),
        )


def _read(connection: sqlite3.Connection, row: tuple[Any, ...], query: str) -> SearchHit | None:
    """A hit, if it and its stream are as they were written."""
    rowid, text, kind, checksum = row
    if not isinstance(text, str) or passage_sum(rowid, kind, text) != checksum:
        log.warning("left out of a search: a passage that was changed on disk")
        return None
    number, sequence = rowid >> 32, rowid & 0xFFFFFFFF
    owner = _stream(connection, number)
    if owner is None:
        return None
    snippet = excerpt(unspace_words(text), query)
    return SearchHit(
        stream=owner.info.stream, sequence=sequence, kind=kind, excerpt=snippet, title=owner.info.title
    )


def rows_of(number: int) -> tuple[int, int]:
    return passage_id(number, 0), passage_id(number + 1, 0) - 1
