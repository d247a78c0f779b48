"""The tables of the journal's file, and their checksums.

Each row carries a checksum over all that it says, its key included, so that a byte that changed on disk is
noticed when it is read, and a row cannot stand in for another. The index of words is made from the entries
and can be made again; it is the one thing here that is not a record.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from dragoman.decoders import convert
from dragoman.errors import JournalDamaged, NotAJournal
from dragoman_local.journal.contract import Direction, StoredEntry, StreamInfo
from dragoman_local.journal.seal import Seal

APPLICATION = 0x44524147  # "DRAG" in the file's header tells our files from others'

VERSION = 5
"""The version of the file. A file of another version is refused."""

WORDS = """create virtual table words using fts5 (
    text, kind unindexed, sum unindexed, tokenize = 'unicode61 remove_diacritics 2'
)"""

TABLES = f"""
create table streams (
    number integer primary key autoincrement, -- never used twice: leftovers of one are not another's
    stream text not null unique,
    agent text not null, cwd text not null, title text not null, state text not null, session text not null,
    created real not null, updated real not null, last integer not null, sum integer not null
);
create index streams_updated on streams (updated desc, number desc);
create table entries (
    number integer not null, sequence integer not null, direction integer not null, time real not null,
    frame blob not null, sum integer not null,
    primary key (number, sequence)
) without rowid;
create table indexed (number integer primary key, upto integer not null, seen integer not null);
{WORDS};
create table originals (
    place integer primary key, -- see `passage_id`
    direction integer not null, time real not null, frame blob not null, sum integer not null
);
create table keys (
    number integer not null, hash blob not null, -- see `key_index`
    prompt integer not null, answer integer not null, made integer not null, sum integer not null,
    primary key (number, hash)
) without rowid;
create index keys_made on keys (hash) where made > 0;
create table unkeyed (number integer primary key, upto integer not null, last integer not null);
"""

COLUMNS = {
    "streams": "number, stream, agent, cwd, title, state, session, created, updated, last, sum",
    "entries": "number, sequence, direction, time, frame, sum",
    "indexed": "number, upto, seen",
    "originals": "place, direction, time, frame, sum",
    "keys": "number, hash, prompt, answer, made, sum",
    "unkeyed": "number, upto, last",
}
"""The tables and columns of a file with our version, besides the word index."""

DIRECTIONS: tuple[Direction, ...] = ("to_agent", "to_client", "note")

FIELDS = ("stream", "agent", "cwd", "title", "state", "session", "created", "updated", "last")
"""The stored fields of a `StreamInfo`; the checksum follows them."""

_fields_of = attrgetter(*FIELDS)

SELECT = """
select number, stream, agent, cwd, title, state, session, created, updated, last, sum from streams
"""
INSERT = """
insert into streams (number, stream, agent, cwd, title, state, session, created, updated, last, sum)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
UPDATE = """
update streams set stream = ?, agent = ?, cwd = ?, title = ?, state = ?, session = ?, created = ?,
updated = ?, last = ?, sum = ? where number = ?
"""
MOVE = "update streams set updated = ?, last = ?, sum = ? where number = ?"
MOVE_KNOWN = MOVE + " and updated = ? and last = ? and sum = ?"
MOVE_WITHIN_SECOND = (
    "update streams set last = ?, sum = ? where number = ? and updated = ? and last = ? and sum = ?"
)
DESCRIBE_KNOWN = """
update streams set agent = ?, cwd = ?, title = ?, state = ?, session = ?, updated = ?, last = ?, sum = ?
where number = ? and updated = ? and last = ? and sum = ?
"""


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables that an empty file lacks, in one transaction."""
    if version(connection):
        return
    connection.execute("begin immediate")
    try:
        if not version(connection):  # nobody else was faster
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {VERSION}")
            connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute("commit")
    except BaseException:
        connection.rollback()
        raise


def probe(connection: sqlite3.Connection) -> None:
    """Use every table and name every column, so that an unusable file is noticed when it is opened, not at
    each turn.
    """
    for table, columns in COLUMNS.items():
        connection.execute(f"select {columns} from {table} limit 0").fetchall()  # noqa: S608  # names of ours
    connection.execute("select number from streams limit 1").fetchall()
    connection.execute("select number from entries limit 1").fetchall()
    connection.execute("select number from indexed limit 1").fetchall()


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the file; 0 if it is empty. Raises an error for other files."""
    application, file_version, schema = _marks(connection)
    if application != APPLICATION and (application or schema):
        raise NotAJournal("this database belongs to another program")
    if file_version not in (0, VERSION):
        raise NotAJournal(
            f"another version of dragoman wrote this journal (format {file_version}; this one knows "
            f"{VERSION}): open it with that version, or name another file"
        )
    return int(file_version)


def _marks(connection: sqlite3.Connection) -> list[int]:
    """Read a file's identity in one transaction, because another process may be creating the file."""
    alone = not connection.in_transaction
    if alone:
        connection.execute("begin")
    try:
        names = ("application_id", "user_version", "schema_version")
        return [connection.execute(f"pragma {name}").fetchone()[0] for name in names]
    finally:
        if alone and connection.in_transaction:
            connection.execute("rollback")


# Streams.


class StreamRow(NamedTuple):
    """A checked row of `streams`, decrypted if it was sealed."""

    number: int
    info: StreamInfo
    lost_entries: int = 0
    """Entries that are missing at the end of a sealed stream."""


def find_stream(connection: sqlite3.Connection, stream: str, *, seal: Seal | None = None) -> StreamRow | None:
    row = connection.execute(SELECT + "where stream = ?", (stream,)).fetchone()
    return None if row is None else read_stream(row, stream=stream, seal=seal)


def read_stream(row: tuple[object, ...], *, stream: str | None = None, seal: Seal | None = None) -> StreamRow:
    """Return an intact row; otherwise raise `JournalDamaged`."""
    number, *fields, checksum = row
    name = stream if stream is not None else str(fields[0])
    if _row_sum(number, fields) != checksum:
        raise JournalDamaged("its description was changed on disk", stream=name)
    info = convert(dict(zip(FIELDS, fields, strict=True)), StreamInfo)
    if seal is None:
        return StreamRow(int(str(number)), info)
    plain_stream = seal.open_info(info)
    if plain_stream is None:
        raise JournalDamaged("its description was changed, or sealed with another key", stream=name)
    return StreamRow(int(str(number)), plain_stream.info, plain_stream.lost_entries)


class StreamEnd(NamedTuple):
    """A stream after our last write, and the checksum of its row."""

    number: int
    info: StreamInfo
    sum: int
    is_moved: bool = False
    """Whether that was a move. After any other write, the next move writes the time."""


def write_stream(
    connection: sqlite3.Connection, number: int | None, info: StreamInfo, *, seal: Seal | None = None
) -> StreamEnd:
    """Insert or update a stream; return its new state."""
    written_info = info if seal is None else seal.seal_info(info)
    if number is None:
        top = connection.execute("select seq from sqlite_sequence where name = 'streams'").fetchone()
        number = (top[0] if top and isinstance(top[0], int) else 0) + 1
        values = _values(number, written_info)
        connection.execute(INSERT, (number, *values))
    else:
        values = _values(number, written_info)
        connection.execute(UPDATE, (*values, number))
    return StreamEnd(number, info, values[-1])


def move_stream(
    connection: sqlite3.Connection, number: int, info: StreamInfo, *, old_end: StreamEnd | None = None
) -> StreamEnd | None:
    """Do `write_stream` when only the last entry and the time have changed, and nothing is sealed: that
    leaves the index of names unchanged. With `old_end`, it writes only if the row still has that end;
    otherwise it returns None. If the time is also the same, the index of times stays unchanged as well.
    """
    row_sum = _row_sum(number, _fields_of(info))
    values = (info.updated, info.last, row_sum, number)
    if old_end is None:
        connection.execute(MOVE, values)
        return StreamEnd(number, info, row_sum, is_moved=True)
    before = (old_end.info.updated, old_end.info.last, old_end.sum)
    is_same_second = info.updated == old_end.info.updated
    move, row = (MOVE_WITHIN_SECOND, values[1:]) if is_same_second else (MOVE_KNOWN, values)
    cursor = connection.execute(move, (*row, *before))
    return StreamEnd(number, info, row_sum, is_moved=True) if cursor.rowcount else None


def describe_stream(
    connection: sqlite3.Connection, info: StreamInfo, *, old_end: StreamEnd
) -> StreamEnd | None:
    """Do `write_stream` for a stream that is not sealed and keeps its name. It writes only if the row still
    has `old_end`; otherwise it returns None.
    """
    number = old_end.number
    row_sum = _row_sum(number, _fields_of(info))
    values = (info.agent, info.cwd, info.title, info.state, info.session, info.updated, info.last, row_sum)
    before = (old_end.info.updated, old_end.info.last, old_end.sum)
    cursor = connection.execute(DESCRIBE_KNOWN, (*values, number, *before))
    return StreamEnd(number, info, row_sum) if cursor.rowcount else None


def carry_stream(connection: sqlite3.Connection, row: StreamRow) -> None:
    """Insert a stream with its old number, with which the checksums of its entries begin."""
    connection.execute(INSERT, (row.number, *_values(row.number, row.info)))


def _values(number: int, info: StreamInfo) -> list[Any]:
    """The stored values of a stream; the last is the checksum."""
    fields = _fields_of(info)
    return [*fields, _row_sum(number, fields)]


def _row_sum(number: object, fields: Sequence[object]) -> int:
    try:
        return zlib.crc32(msgspec.msgpack.encode([number, *fields]))
    except (TypeError, UnicodeEncodeError):  # a type byte that changed can make any value of a field
        return -1


# Entries and passages.


_KEY = struct.Struct(">qqqd").pack

PACKED = 8
"""Added to the number of a direction if the frame is stored deflated."""

PACK_FROM = 4 * 1024
"""The bytes of a frame from which on compression is worth it: whole files, and repeated output."""


def pack(direction: int, frame: bytes) -> tuple[int, bytes]:
    """Return the stored form of a frame, and the number of that form."""
    if len(frame) >= PACK_FROM:
        packed_frame = zlib.compress(frame, 1)
        if len(packed_frame) < len(frame) * 3 // 4:
            return direction + PACKED, packed_frame
    return direction, frame


def place_sum(number: int, sequence: int, direction: int, time: float) -> int:
    """Return the start of a row's checksum: the row's position."""
    return zlib.crc32(_KEY(number, sequence, direction, time))


def entry_sum(number: int, sequence: int, direction: int, time: float, frame: bytes) -> int:
    return zlib.crc32(frame, place_sum(number, sequence, direction, time))


def read_entry(
    stream: StreamRow, sequence: int, row: tuple[object, ...], *, seal: Seal | None = None
) -> StoredEntry | None:
    """Return an entry from a row (sequence, direction, time, frame, sum), if its checksum is right."""
    stored_sequence, direction, time, frame, checksum = row
    number = stream.number
    if stored_sequence != sequence or not (
        isinstance(direction, int)
        and isinstance(time, float)
        and isinstance(frame, bytes)
        and 0 <= direction % PACKED < len(DIRECTIONS)
        and entry_sum(number, sequence, direction, time, frame) == checksum
    ):
        return None
    if seal is not None:
        plain_frame = seal.open(stream.info, sequence, direction, time, frame)
        if plain_frame is None:
            return None
        frame = plain_frame
    whole = zlib.decompress(frame) if direction >= PACKED else frame
    return StoredEntry(sequence, DIRECTIONS[direction % PACKED], whole, time)


def passage_sum(rowid: int, kind: str, text: str) -> int:
    return zlib.crc32(f"{rowid}/{kind}/{text}".encode(errors="replace"))


def passage_id(number: int, sequence: int) -> int:
    """Return the index row of a passage that begins at `sequence`; those of a stream are adjacent."""
    return (number << 32) | sequence
