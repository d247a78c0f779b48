"""Recovers the readable part of a damaged journal, and keeps the damaged file.

Every stream is read from its beginning up to the first entry that is not as it was written, and put into a
new file. When that is complete, the damaged one is moved aside under a name that says what it is, and the new
one takes its place (see `file_exchange`); nothing is deleted, and a kill loses nothing. A torn file whose
beginning is gone is read with the beginning of an empty journal, because all journals of a version begin
alike. What is sealed is carried over unread; with the key, a stream that lost its end is sealed as it is now.
Originals of pending entries are not carried over.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import JournalBusy, JournalDamaged
from dragoman_local.journal import sqlite_file, streams
from dragoman_local.journal.blocks import entries_in, run_of
from dragoman_local.journal.entry_runs import EntryBatch
from dragoman_local.journal.file_exchange import COMPANIONS, draft_folder, exchange, free_name, recover
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.sealed_file import mark_of, set_mark
from dragoman_local.journal.tables import (
    APPLICATION,
    SELECT,
    StreamRow,
    carry_stream,
    find_stream,
    make_tables,
    read_stream,
    write_stream,
)

log = logging.getLogger(__name__)

DRAFT = "draft"
MAGIC = b"SQLite format 3\0"
HEADER = 100
ROWS = "select sequence, direction, time, frame, sum from entries"


class Salvage(Struct, frozen=True, kw_only=True):
    """The content recovered from a damaged journal."""

    damaged_file: Path
    """The damaged file, unchanged."""
    streams: int
    """Streams with saved entries."""
    entries: int
    lost_entries: int
    """Entries that existed and could not be saved."""


def is_ours(path: Path) -> bool:
    """Whether a file's header is that of a journal, damaged or not."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER)
    except OSError:
        return False
    return header[:16] == MAGIC and header[68:72] == APPLICATION.to_bytes(4, "big")


def repair(path: Path) -> Salvage:
    """Move a journal aside, damaged or not, and recover its readable content, on request of a user."""
    lock = sqlite_file.FolderLock(path)
    lock.share()
    try:
        recover(path, lock, within=sqlite_file.BUSY_SECONDS)
        if not lock.try_exclusive():
            raise JournalBusy(
                f"{path} is open in another process: stop the hub and every other program that uses it"
            )
        return set_aside(path, lock)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise sqlite_file.explain(error, path) from None
    finally:
        lock.release()


def set_aside(path: Path, lock: sqlite_file.FolderLock, *, seal: Seal | None = None) -> Salvage:
    """Replace a damaged journal by a new one with its readable content."""
    if not lock.try_exclusive():
        raise JournalDamaged(f"{path} is damaged, and another process has it open; end that one first")
    try:
        damaged_file = free_name(path, "damaged")
        with draft_folder(path) as folder:
            salvage = _refill(folder, path, damaged_file, seal)
            exchange(path, folder / DRAFT, damaged_file)
    finally:
        lock.share_again()
    log.warning(
        "%s was damaged: %d entries of %d streams were saved, %d lost; the file is kept as %s",
        path.name,
        salvage.entries,
        salvage.streams,
        salvage.lost_entries,
        damaged_file.name,
    )
    return salvage


def _refill(folder: Path, path: Path, damaged_file: Path, seal: Seal | None) -> Salvage:
    """Read from a copy: SQLite changes what it opens, and the damaged file stays as it is."""
    stream_count = entries = lost_count = 0
    copy = folder / "journal"
    for companion in COMPANIONS[:2]:
        if Path(f"{path}{companion}").exists():
            shutil.copyfile(f"{path}{companion}", f"{copy}{companion}")
    sqlite_file.make_file(folder / DRAFT)
    target = sqlite_file.connect_writer(folder / DRAFT, "full", sqlite_file.BUSY_SECONDS)
    try:
        source = _open_damaged(copy)
        if source is not None:
            _carry_mark(source, target)
            for row in _streams(source):
                count = _copy(source, target, row, seal)
                stream_count += 1
                entries += count
                lost_count += row.info.last - count
            source.close()
        target.execute("pragma journal_mode = delete")  # one file: its log would stay behind
    finally:
        target.close()
    return Salvage(damaged_file=damaged_file, streams=stream_count, entries=entries, lost_entries=lost_count)


def _open_damaged(copy: Path) -> sqlite3.Connection | None:
    """A connection that reads what it can, with the first page made new if the old one is of no use."""
    for must_mend in (False, True):
        if must_mend:
            _mend_beginning(copy)
        source = sqlite_file.connect(copy)
        try:
            # Lets SQLite read a file that is shorter than its header says.
            source.execute("pragma writable_schema = on")
            source.execute(SELECT + "limit 0").fetchall()
            source.execute(streams.PAGE, (0, 0, 0)).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            log.info("the damaged journal cannot be opened: %s", error)
            source.close()
        else:
            return source
    return None


def _mend_beginning(copy: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=copy.parent) as folder:
        fresh = Path(folder) / "fresh"
        connection = sqlite3.connect(fresh, isolation_level=None)
        make_tables(connection)
        page_size = int(connection.execute("pragma page_size").fetchone()[0])
        connection.close()
        first = bytearray(fresh.read_bytes()[:page_size])
    pages = -(-copy.stat().st_size // page_size)
    first[28:32] = pages.to_bytes(4, "big")
    first[92:96] = first[24:28]  # says that the number of pages is to be believed
    with copy.open("r+b") as file:
        file.write(first)
        file.truncate(pages * page_size)
        file.flush()
        os.fsync(file.fileno())


def _streams(source: sqlite3.Connection) -> Iterator[StreamRow]:
    """Every stream whose row can be read, from both ends of the table towards the damage."""
    numbers: set[int] = set()
    for order in ("asc", "desc"):
        for row in _rows(source, SELECT + f"order by number {order}"):
            try:
                read = read_stream(row)
            except JournalDamaged:
                continue
            if read.number not in numbers:
                numbers.add(read.number)
                yield read


def _rows(source: sqlite3.Connection, query: str) -> Iterator[tuple[object, ...]]:
    """The rows before the damage."""
    try:
        yield from source.execute(query)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        log.info("a table breaks off: %s", error)


def _carry_mark(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    try:
        mark = mark_of(source)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        log.info("whether the journal was sealed cannot be read: %s", error)
        return
    if mark is not None:
        set_mark(target, mark)


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, row: StreamRow, seal: Seal | None) -> int:
    """Put the good beginning of a stream into the new file; returns its number of entries. Rows that are
    sound are carried over as they are, whatever is in them.
    """
    target.execute("begin immediate")
    carry_stream(target, row)
    last, query = 0, f"{ROWS} where number = {row.number} order by sequence"
    for fields in _rows(source, query):
        count = entries_in(row.number, last + 1, fields)
        if not count:
            last = _save_rest(target, row, last, fields)
            break
        target.execute(streams.INSERT, (row.number, *fields))
        last += count
    write_stream(target, row.number, replace(row.info, last=last))
    if seal is not None and last < row.info.last:
        _seal_again(target, row.info.stream, seal)
    target.execute("insert into unkeyed values (?, 0, ?)", (row.number, last))  # its index is made again
    target.execute("commit")
    return last


def _save_rest(target: sqlite3.Connection, row: StreamRow, last: int, fields: tuple[object, ...]) -> int:
    """Save the good beginning of the first damaged row; returns the last entry of it."""
    good = run_of(row.number, last + 1, fields)
    if good is None:
        return last
    write_stream(target, row.number, replace(row.info, last=last))
    entries = EntryBatch([good])
    return streams.append(target, row.info.stream, entries, after=last, redact=None, now=row.info.updated)


def _seal_again(target: sqlite3.Connection, stream: str, seal: Seal) -> None:
    """Seal the shorter stream as complete: `Salvage` reports the lost entries, once."""
    try:
        row = find_stream(target, stream, seal=seal)
    except JournalDamaged:
        return  # it was sealed by somebody else, and stays as it is
    if row is not None:
        write_stream(target, row.number, row.info, seal=seal)
