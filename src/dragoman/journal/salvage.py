"""Saves what can be read of a damaged journal, and keeps the damaged file.

The file is moved aside under a name that says what it is; nothing is deleted. Every stream is then read from
its beginning up to the first entry that is not as it was written, and put into a new file. A torn file whose
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
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import JournalBusy, JournalDamaged
from dragoman.journal import sqlite_file, streams
from dragoman.journal.blocks import entries_in, run_of
from dragoman.journal.entry_runs import EntryBatch
from dragoman.journal.seal import Seal
from dragoman.journal.sealed_file import mark_of, set_mark
from dragoman.journal.tables import (
    APPLICATION,
    SELECT,
    STEPS,
    StreamRow,
    carry_stream,
    find_stream,
    migrate,
    read_stream,
    write_stream,
)

log = logging.getLogger(__name__)

COMPANIONS = ("", "-wal", "-shm")
MAGIC = b"SQLite format 3\0"
HEADER = 100
ROWS = "select sequence, direction, time, frame, sum from entries"


class Salvage(Struct, frozen=True, kw_only=True):
    """What was saved from a damaged journal."""

    damaged_file: Path
    """The damaged file, as it was."""
    streams: int
    """Streams of which something could be saved."""
    entries: int
    lost_entries: int
    """Entries that are known to have been there and could not be saved."""


def is_ours(path: Path) -> bool:
    """Whether the header of a file, damaged or not, says that it is a journal."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER)
    except OSError:
        return False
    return header[:16] == MAGIC and header[68:72] == APPLICATION.to_bytes(4, "big")


def repair(path: Path) -> Salvage:
    """Set a journal aside, damaged or not, and save what can be read of it; for somebody who asks for it."""
    lock = sqlite_file.FolderLock(path)
    lock.share()
    try:
        if not lock.try_exclusive():
            raise JournalBusy(f"{path} is open in another process: stop the hub, and whoever else uses it")
        return set_aside(path, lock)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise sqlite_file.explain(error, path) from None
    finally:
        lock.release()


def set_aside(path: Path, lock: sqlite_file.FolderLock, *, seal: Seal | None = None) -> Salvage:
    """Move a damaged journal away and fill a new one with what can be read of it."""
    if not lock.try_exclusive():
        raise JournalDamaged(f"{path} is damaged, and another process has it open; end that one first")
    try:
        damaged_file = _free_name(path)
        for companion in COMPANIONS:
            source = Path(f"{path}{companion}")
            if source.exists():
                source.rename(f"{damaged_file}{companion}")
        sqlite_file.make_file(path)
        salvage = _refill(path, damaged_file, seal)
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


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    for count in range(1_000):
        candidate = path.with_name(f"{path.name}.damaged-{stamp}{f'-{count}' if count else ''}")
        if not candidate.exists():
            return candidate
    raise JournalDamaged(f"{path} is damaged, and there are too many damaged files beside it")


def _refill(path: Path, damaged_file: Path, seal: Seal | None) -> Salvage:
    """Read from a copy: SQLite changes what it opens, and the file that was set aside stays as it was."""
    stream_count = entries = lost_count = 0
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=path.parent) as folder:
        copy = Path(folder) / "journal"
        for companion in COMPANIONS[:2]:
            if Path(f"{damaged_file}{companion}").exists():
                shutil.copyfile(f"{damaged_file}{companion}", f"{copy}{companion}")
        target = sqlite_file.connect_writer(path, "full", sqlite_file.BUSY_SECONDS)
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
        migrate(connection)
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
    """What is good at the beginning of the first row that is damaged; returns the last entry of it."""
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


# Files of all versions so far have `streams` and `entries`, which alone are read, at the same pages.
assert len(STEPS) == 5, "does a file of the new version begin in another way? teach _mend_beginning about it"
