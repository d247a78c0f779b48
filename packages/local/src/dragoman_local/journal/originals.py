"""The originals of pending frames, kept unredacted beside the redacted form in the stream.

They lie in a table of their own, in the same file, and are written in the transaction that stores their
entries. Nothing reads the table but `Journal.originals`: no page, search, copy or export has them. Each row
has a checksum over its place, and is sealed where the journal is; it cannot stand in for an entry of the
stream, nor an entry for it. What is dropped is overwritten (`secure_delete`).
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Sequence

from dragoman_local.journal.contract import StoredEntry
from dragoman_local.journal.entry_runs import FrameRun
from dragoman_local.journal.redaction import is_redacted
from dragoman_local.journal.seal import Seal
from dragoman_local.journal.tables import (
    DIRECTIONS,
    PACKED,
    StreamRow,
    entry_sum,
    find_stream,
    pack,
    passage_id,
)

log = logging.getLogger(__name__)

ORIGINAL = 64
"""Added to the number of a direction if the row's position is part of its protection."""

INSERT = "insert into originals (place, direction, time, frame, sum) values (?, ?, ?, ?, ?)"
SELECT = "select place, direction, time, frame, sum from originals where place between ? and ?"
NUMBER = "select number from streams where stream = ?"
HAS_ORIGINAL = "select 1 from streams join originals on place = (number << 32) | ? where stream = ?"
"""The position in the form of `passage_id`."""


def originals_of(runs: Sequence[FrameRun], redacted_runs: Sequence[FrameRun], last: int) -> list[StoredEntry]:
    """Return the pending frames of `runs`, at the position after `last`, that differ from `redacted_runs`.

    A frame that held the mark of redaction before is among them: so a pending entry with the mark and without
    an original is always one that was redacted.
    """
    originals: list[StoredEntry] = []
    for run, redacted_run in zip(runs, redacted_runs, strict=True):
        if run.pending:
            pairs = zip(run.frames, redacted_run.frames, strict=True)
            originals += [
                StoredEntry(sequence, run.direction, frame, run.time)
                for sequence, (frame, after) in enumerate(pairs, last + 1)
                if frame != after or is_redacted(frame)
            ]
        last += len(run.frames)
    return originals


def insert(
    connection: sqlite3.Connection, stream: StreamRow, originals: Sequence[StoredEntry], *, seal: Seal | None
) -> None:
    """Insert originals, in the transaction that stores their entries."""
    rows: list[tuple[object, ...]] = []
    for original in originals:
        direction, frame = pack(DIRECTIONS.index(original.direction), original.frame)
        place = (original.sequence, direction + ORIGINAL, original.time + 0.0)
        if seal is not None:
            frame = seal.seal(stream.info, *place, frame)
        checksum = entry_sum(stream.number, *place, frame)
        rows.append((passage_id(stream.number, original.sequence), direction, place[2], frame, checksum))
    connection.executemany(INSERT, rows)


def read(connection: sqlite3.Connection, stream: str, *, seal: Seal | None) -> dict[int, bytes]:
    """Return the originals of a stream by sequence. One that was changed on disk is left out, like a dropped
    one.
    """
    row = find_stream(connection, stream, seal=seal)
    if row is None:
        return {}
    frames: dict[int, bytes] = {}
    begin = passage_id(row.number, 0)
    for place, *fields in connection.execute(SELECT, (begin, passage_id(row.number + 1, 0) - 1)):
        frame = _read_row(row, place - begin, fields, seal)
        if frame is None:
            log.warning("stream %s: an original was changed on disk, and is not used", stream)
        else:
            frames[place - begin] = frame
    return frames


def _read_row(row: StreamRow, sequence: int, fields: Sequence[object], seal: Seal | None) -> bytes | None:
    direction, time, frame, checksum = fields
    if not (
        isinstance(direction, int)
        and isinstance(time, float)
        and isinstance(frame, bytes)
        and entry_sum(row.number, sequence, direction + ORIGINAL, time, frame) == checksum
    ):
        return None
    if seal is None:
        content: bytes | None = frame
    else:
        content = seal.open(row.info, sequence, direction + ORIGINAL, time, frame)
    return zlib.decompress(content) if content is not None and direction >= PACKED else content


def has_any(connection: sqlite3.Connection, stream: str, sequences: Sequence[int]) -> bool:
    return any(
        connection.execute(HAS_ORIGINAL, (sequence, stream)).fetchone() is not None for sequence in sequences
    )


def drop(connection: sqlite3.Connection, stream: str, sequences: Sequence[int]) -> None:
    places = _places(connection, stream, sequences)
    connection.executemany("delete from originals where place = ?", places)


def drop_before(connection: sqlite3.Connection, time: float) -> int:
    return connection.execute("delete from originals where time < ?", (time,)).rowcount


def _places(connection: sqlite3.Connection, stream: str, sequences: Sequence[int]) -> list[tuple[int]]:
    row = connection.execute(NUMBER, (stream,)).fetchone()
    return [] if row is None else [(passage_id(row[0], sequence),) for sequence in sequences]
