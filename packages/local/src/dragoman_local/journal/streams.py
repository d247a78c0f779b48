"""SQL operations on streams: append, read a page, describe, list, delete.

Every function here runs inside a transaction that its caller began. It reads what it depends on in that
transaction, because another process may have written since, and it refuses before it writes.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from sys import intern

from msgspec.structs import replace

from dragoman.errors import JournalDamaged, JournalError, NoSuchStream, StreamMoved
from dragoman_local.journal import key_index, originals
from dragoman_local.journal.blocks import BLOCK, cut, read_runs, write_block
from dragoman_local.journal.contract import (
    PAGE_BYTES,
    PAGE_ROWS,
    Entry,
    StoredEntry,
    StreamInfo,
    StreamListing,
    make_cursor,
    read_cursor,
)
from dragoman_local.journal.entry_runs import (
    EntryBatch,
    FrameRun,
    RunPage,
    is_housekeeping,
    runs_of_entries,
    size_of_runs,
)
from dragoman_local.journal.idempotency import keyed_entries
from dragoman_local.journal.redaction import redact_runs
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.tables import (
    DIRECTIONS,
    PACK_FROM,
    SELECT,
    StreamEnd,
    StreamRow,
    describe_stream,
    entry_sum,
    find_stream,
    move_stream,
    pack,
    passage_id,
    read_entry,
    read_stream,
    write_stream,
)

log = logging.getLogger(__name__)

DIRECTION_NUMBERS = {name: number for number, name in enumerate(DIRECTIONS)}

INSERT = "insert into entries (number, sequence, direction, time, frame, sum) values (?, ?, ?, ?, ?, ?)"
ROWS = 40
"""The rows of one statement; more are not faster, and some builds allow no more than 999 values."""
INSERTS = [INSERT + ", (?, ?, ?, ?, ?, ?)" * (count - 1) for count in range(1, ROWS + 1)]
"""Statements by their number of rows, minus one."""
ENDS = 1024
"""The most streams whose end is remembered: as many as may be in use at once."""

SAME_TIME_SECONDS = 1.0
"""The seconds for which a stream with repeated appends keeps its time. Writing the time means writing another
page of the listing index, which would be one page of three while an agent sends text.
"""

PAGE = (
    "select sequence, direction, time, frame, sum from entries where number = ? and sequence > ? "
    "order by sequence limit ?"
)


def clean(text: str) -> str:
    """Return text that can be stored: a path may have bytes that are not characters."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def append(
    connection: sqlite3.Connection,
    stream: str,
    entries: Sequence[Entry],
    *,
    after: int | None,
    redact: Callable[[bytes], bytes] | None,
    redacted_runs: Sequence[FrameRun] | None = None,
    now: float,
    seal: Seal | None = None,
    ends: dict[str, StreamEnd] | None = None,
) -> int:
    """Store the entries at the end of the stream; return the new last sequence.

    `redacted_runs` is what `redact` makes of the entries, if the caller has it already. `ends` holds where
    streams ended when we last wrote to them; it may be out of date, and this function updates it.
    """
    batch = runs_of_entries(entries)
    end, first = _advance(connection, stream, batch, after=after, now=now, seal=seal, ends=ends)
    number, info = end.number, end.info
    runs = redacted_runs or (batch.runs if redact is None else redact_runs(batch, redact))
    pending = originals.originals_of(batch.runs, runs, first)
    key_entries = keyed_entries(batch.runs, first)  # redaction may change a key
    rows = _rows(number, first, runs) if seal is None else _seal_rows(number, info, first, runs, seal)
    _insert(connection, rows)
    if pending:
        originals.insert(connection, StreamRow(number, info), pending, seal=seal)
    if key_entries:
        key_index.insert(connection, number, key_entries, seal=seal)
    return info.last


def _advance(
    connection: sqlite3.Connection,
    stream: str,
    batch: EntryBatch,
    *,
    after: int | None,
    now: float,
    seal: Seal | None,
    ends: dict[str, StreamEnd] | None,
) -> tuple[StreamEnd, int]:
    """The stream with these entries more, and where they begin; housekeeping leaves its time. A stream that
    is in `ends` is moved without a look at it: that it is still as we left it is part of the statement, and
    if it is not, we look.
    """
    is_quiet = is_housekeeping(batch.runs)
    old_end = None if ends is None else ends.pop(stream, None)
    end: StreamEnd | None = None
    if old_end is not None and after in (None, old_end.info.last):
        is_recent = old_end.is_moved and 0 <= now - old_end.info.updated < SAME_TIME_SECONDS
        update_time = old_end.info.updated if is_quiet or is_recent else now
        info = _moved(old_end.info, batch, update_time)
        if info.state == old_end.info.state:
            end = move_stream(connection, old_end.number, info, old_end=old_end)
        else:
            end = describe_stream(connection, info, old_end=old_end)
    if end is None:
        number, old_info = _find_or_new(connection, stream, now, seal)
        if after is not None and after != old_info.last:
            raise StreamMoved(stream, after, old_info.last)
        update_time = old_info.updated if is_quiet else now
        info = _moved(old_info, batch, update_time)
        end = (
            write_stream(connection, number, info, seal=seal)
            if number is None or seal is not None or info.state != old_info.state
            else move_stream(connection, number, info)
        )
    assert end is not None
    if ends is not None:
        _remember_end(ends, stream, end)
    return end, end.info.last - len(batch)


def _moved(info: StreamInfo, batch: EntryBatch, updated: float) -> StreamInfo:
    state = (batch.state if info.agent else "") or info.state
    return replace(info, last=info.last + len(batch), updated=updated, state=state)


def _remember_end(ends: dict[str, StreamEnd], stream: str, end: StreamEnd) -> None:
    ends[stream] = end
    if len(ends) > ENDS:
        del ends[next(iter(ends))]


def _rows(number: int, last: int, runs: Iterable[FrameRun]) -> list[tuple[object, ...]]:
    """The runs as they are stored behind `last`."""
    rows: list[tuple[object, ...]] = []
    for run in runs:
        moment = _moment(run)
        if len(run.frames) == 1 and len(run.frames[0]) < PACK_FROM:  # nearly every append has only such
            last += 1
            direction, payload = DIRECTION_NUMBERS[run.direction], run.frames[0]
            checksum = entry_sum(number, last, direction, moment, payload)
            rows.append((number, last, direction, moment, payload, checksum))
            continue
        for frames in (run.frames,) if len(run.frames) == 1 else cut(run.frames):
            last += len(frames)
            direction = DIRECTION_NUMBERS[run.direction]
            if len(frames) == 1:
                direction, payload = pack(direction, frames[0])
            else:
                direction += BLOCK
                payload = write_block(number, last, direction, moment, frames)
            checksum = entry_sum(number, last, direction, moment, payload)
            rows.append((number, last, direction, moment, payload, checksum))
    return rows


def _seal_rows(
    number: int, info: StreamInfo, last: int, runs: Iterable[FrameRun], seal: Seal
) -> list[tuple[object, ...]]:
    """The runs as sealed rows: one for each frame, because each is sealed for its place."""
    rows: list[tuple[object, ...]] = []
    sequence = last
    for run in runs:
        plain_direction, moment = DIRECTION_NUMBERS[run.direction], _moment(run)
        for frame in run.frames:
            sequence += 1
            direction, packed_frame = pack(plain_direction, frame)
            payload = seal.seal(info, sequence, direction, moment, packed_frame)
            checksum = entry_sum(number, sequence, direction, moment, payload)
            rows.append((number, sequence, direction, moment, payload, checksum))
    return rows


def _moment(run: FrameRun) -> float:
    """SQLite has no NaN, and no zero below zero: what it would give back has another checksum."""
    moment = run.time + 0.0
    return moment if moment == moment else 0.0


def _insert(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Many rows with one statement: each statement lets other threads run, and then waits for its turn."""
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        connection.execute(INSERTS[len(some) - 1], [value for row in some for value in row])


def page(
    connection: sqlite3.Connection, stream: str, after: int, limit: int | None, *, seal: Seal | None = None
) -> tuple[RunPage, JournalDamaged | None]:
    """Return the good entries after `after`, up to the limits of a page, and the damage after them if any."""
    row = find_stream(connection, clean(stream), seal=seal)
    if row is None:
        raise NoSuchStream(stream)
    return page_of(connection, row, after, limit, seal=seal)


def page_of(
    connection: sqlite3.Connection, row: StreamRow, after: int, limit: int | None, *, seal: Seal | None = None
) -> tuple[RunPage, JournalDamaged | None]:
    """Return a page of a stream whose row the caller has."""
    after = max(after, 0)
    page_size = max(0, min(PAGE_ROWS, row.info.last - after, PAGE_ROWS if limit is None else limit))
    runs: list[FrameRun] = []
    try:
        rows = connection.execute(PAGE, (row.number, after, page_size))
        runs.extend(  # those before an error stay
            read_runs(
                row.number,
                after,
                rows,
                limit=page_size,
                most=PAGE_BYTES,
                read_other=partial(_read, row, seal=seal),
                is_sealed=seal is not None,
            )
        )
    except sqlite3.DatabaseError as error:
        log.warning("a page of the journal cannot be read: %s", error)
    good_page = RunPage(after + 1, runs)
    count, size = len(good_page), size_of_runs(runs)
    good = after + count
    ends_early = row.lost_entries > 0 and good == row.info.last and count != limit
    if (count == page_size and not ends_early) or size >= PAGE_BYTES:
        return good_page, None
    why = f"entry {good + 1} of {row.info.last + row.lost_entries} was changed or lost on disk"
    return good_page, JournalDamaged(why, stream=row.info.stream, sequence=good)


def _read(row: StreamRow, sequence: int, fields: tuple[object, ...], *, seal: Seal | None) -> FrameRun | None:
    """A row of one entry that is deflated or sealed."""
    entry = read_entry(row, sequence, fields, seal=seal)
    return None if entry is None else FrameRun(entry.direction, (entry.frame,), entry.time)


def first_entries(
    connection: sqlite3.Connection, names: Iterable[str], *, seal: Seal | None = None
) -> dict[str, StoredEntry]:
    found: dict[str, StoredEntry] = {}
    for name in names:
        row = find_stream(connection, clean(name), seal=seal)
        if row is not None:
            good_page, _ = page_of(connection, row, 0, 1, seal=seal)
            found.update((name, entry) for entry in good_page)
    return found


def info(connection: sqlite3.Connection, stream: str, *, seal: Seal | None = None) -> StreamInfo | None:
    row = find_stream(connection, clean(stream), seal=seal)
    return None if row is None else row.info


def describe(
    connection: sqlite3.Connection,
    stream: str,
    changes: Mapping[str, str],
    *,
    now: float,
    seal: Seal | None = None,
    ends: dict[str, StreamEnd] | None = None,
) -> StreamInfo:
    """Change the description of a stream. `ends` is that of `append`: each uses the other's knowledge of a
    stream.
    """
    clean_changes = {name: clean(value) for name, value in changes.items()}
    old_end = None if ends is None else ends.pop(stream, None)
    end: StreamEnd | None = None
    if old_end is not None:
        new_info = replace(old_end.info, updated=now, **clean_changes)
        end = describe_stream(connection, new_info, old_end=old_end)
    if end is None:
        number, old_info = _find_or_new(connection, stream, now, seal)
        end = write_stream(connection, number, replace(old_info, updated=now, **clean_changes), seal=seal)
    if ends is not None:
        _remember_end(ends, stream, end)
    return end.info


def listing(
    connection: sqlite3.Connection,
    filters: Mapping[str, str],
    *,
    cursor: str | None,
    limit: int,
    seal: Seal | None = None,
) -> StreamListing:
    # The names in `filters` are ours, the values are bound.
    conditions = [f"{name} = ?" for name in filters]
    filter_values = {name: clean(value) for name, value in filters.items()}
    if seal is not None and "cwd" in filter_values:
        filter_values["cwd"] = seal.folder(filter_values["cwd"])
    values: list[object] = [*filter_values.values()]
    if cursor is not None:
        conditions.append("(updated, number) < (?, ?)")
        values += read_cursor(cursor)
    where = f"where {' and '.join(conditions)}" if conditions else ""
    query = SELECT + where + " order by updated desc, number desc limit ?"
    rows = connection.execute(query, (*values, limit + 1)).fetchall()
    infos = [read for row in rows[:limit] if (read := _readable(row, seal)) is not None]
    # The row that ends the page may itself be damaged, so that it cannot say where the next one begins.
    last = rows[limit - 1] if len(rows) > limit > 0 else None
    sound = last is not None and isinstance(last[8], float)
    return StreamListing(streams=infos, cursor=make_cursor(last[8], last[0]) if last and sound else None)


SET_RESIDUE = "replace into unkeyed values (0, 0, 0)"
"""Note in the transaction of a deletion that the file must be scrubbed. No stream has the number 0."""


def delete(connection: sqlite3.Connection, stream: str) -> bool:
    # By its number and unchecked: what is damaged can be deleted too.
    row = connection.execute("select number from streams where stream = ?", (clean(stream),)).fetchone()
    if row is None:
        return False
    number = row[0]
    bounds = passage_id(number, 0), passage_id(number + 1, 0) - 1
    connection.execute("delete from words where rowid between ? and ?", bounds)
    connection.execute("delete from indexed where number = ?", (number,))
    connection.execute("delete from originals where place between ? and ?", bounds)
    connection.execute("delete from keys where number = ?", (number,))
    connection.execute("delete from unkeyed where number = ?", (number,))
    connection.execute("delete from entries where number = ?", (number,))
    connection.execute("delete from streams where number = ?", (number,))
    connection.execute(SET_RESIDUE)
    return True


def forget_traces(connection: sqlite3.Connection) -> None:
    """Remove the remains of a deletion: words in the index's older segments, pages in the log."""
    connection.execute("insert into words (words) values ('optimize')")
    empty_log(connection)


def has_residue(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from unkeyed where number = 0").fetchone() is not None


def scrub(connection: sqlite3.Connection) -> None:
    """Rewrite the file. SQLite overwrites deleted data, but not the copies in the free part of a page that it
    divided before.
    """
    connection.execute("insert into words (words) values ('optimize')")
    connection.execute("vacuum")
    connection.execute("delete from unkeyed where number = 0")
    empty_log(connection)


def empty_log(connection: sqlite3.Connection) -> None:
    """Empty the log, whose pages still have erased text.

    Somebody who reads at this moment keeps the log; it is emptied when the last one closes.
    """
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()


def _find_or_new(
    connection: sqlite3.Connection, stream: str, now: float, seal: Seal | None
) -> tuple[int | None, StreamInfo]:
    if not stream:
        raise JournalError("a stream needs a name")
    row = find_stream(connection, clean(stream), seal=seal)
    if row is not None and row.lost_entries:
        # To write on would be to seal what somebody has made of it.
        raise JournalDamaged(
            f"its last {row.lost_entries} entries are gone", stream=stream, sequence=row.info.last
        )
    if row is not None:
        # One copy of each text, however many streams are remembered: see `ENDS`.
        info = row.info
        agent, cwd, state = intern(info.agent), intern(info.cwd), intern(info.state)
        return row.number, replace(info, stream=clean(stream), agent=agent, cwd=cwd, state=state)
    return None, StreamInfo(stream=clean(stream), created=now, updated=now)


def _readable(row: tuple[object, ...], seal: Seal | None) -> StreamInfo | None:
    try:
        return read_stream(row, seal=seal).info
    except JournalDamaged as damage:
        log.warning("left out of a listing: %s", damage)
        return None
