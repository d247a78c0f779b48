"""Rows of many frames: entries that were appended together, of one direction and one moment, are one row.

A row costs SQLite many times what its bytes do, and an agent that streams brings hundreds of frames at once.
Such a row stands under the sequence of its last entry, so that the first row behind an entry is the one that
holds the next, wherever in the row that is. In it are, each of four bytes, how many frames there are, their
lengths and a checksum of each, and then the frames, each with a newline. The checksums of the frames are
looked at only if that of the row is wrong: then a changed byte costs one frame, and not its neighbours.

It knows rows and bytes, and no database.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dragoman.journal.contract import Entry, Stored
from dragoman.journal.tables import DIRECTIONS, PACK_FROM, entry_sum, place_sum

BLOCK = 16
"""Added to the number of a direction: the row holds several frames."""

MOST = 512
MOST_BYTES = 64 * 1024
"""What one row holds at most: whoever wants one entry of it reads all of them."""

_WORD = 4


def cut(entries: Sequence[Entry], frames: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Where the rows begin and end. What is worth deflating is a row of its own."""
    first = size = 0
    direction, moment = "", 0.0
    for place, (entry, frame) in enumerate(zip(entries, frames, strict=True)):
        length = len(frame)
        alike = entry.time == moment and entry.direction == direction and length < PACK_FROM
        if place > first and not (alike and size < MOST_BYTES and place - first < MOST):
            yield first, place
            first, size = place, 0
        direction, moment = entry.direction, entry.time
        size += length if length < PACK_FROM else MOST_BYTES
    if entries:
        yield first, len(entries)


def write_block(number: int, last: int, direction: int, time: float, frames: Sequence[bytes]) -> bytes:
    """Frames as they are stored in one row, the last of them at `last`."""
    count = len(frames)
    seed = place_sum(number, last, direction, time)
    sums = map(zlib.crc32, frames, range(seed, seed + count))  # its place in the row is part of each
    head = struct.pack(f"<{1 + 2 * count}I", count, *map(len, frames), *sums)
    return b"\n".join((head, *frames, b""))


def read_block(
    number: int, last: int, direction: int, time: float, block: bytes, checksum: object
) -> Sequence[bytes | None]:
    """The frames of a row, None for each that is not as it was written."""
    count = int.from_bytes(block[:_WORD], "little")
    start = _WORD * (1 + 2 * count) + 1
    seed = place_sum(number, last, direction, time)
    sound = zlib.crc32(block, seed) == checksum
    if sound:
        frames = block[start:].split(b"\n")
        if len(frames) == count + 1:  # so none of them has a newline of its own
            del frames[count]
            return frames
    elif not 0 < count <= MOST or start > len(block):
        return ()
    return list(_each(seed, count, block, start, sound=sound))


def _each(seed: int, count: int, block: bytes, start: int, *, sound: bool) -> Iterator[bytes | None]:
    sizes = struct.unpack_from(f"<{count}I", block, _WORD)
    sums = struct.unpack_from(f"<{count}I", block, _WORD * (1 + count))
    for place, (size, checksum) in enumerate(zip(sizes, sums, strict=True)):
        frame = block[start : start + size]
        yield frame if sound or zlib.crc32(frame, seed + place) == checksum else None
        start += size + 1


def read_run(
    number: int, after: int, rows: Iterable[tuple[Any, ...]], *, wanted: int, most: int
) -> list[Stored]:
    """The short way of rows that are as they were written, neither deflated nor sealed: their entries behind
    `after`, up to the first row that is none of these, until they are `wanted` or hold `most` bytes.
    """
    found: list[Stored] = []
    size = 0
    for row in rows:
        last, direction, time, held, checksum = row
        if type(held) is not bytes or type(time) is not float or type(direction) is not int:
            break
        sequence = after + len(found) + 1
        if 0 <= direction < len(DIRECTIONS):
            if last != sequence or zlib.crc32(held, place_sum(number, last, direction, time)) != checksum:
                break
            found.append(Stored(sequence, DIRECTIONS[direction], held, time))
        elif not (more := entries_of(number, sequence, row)):
            break
        else:
            found += more[: wanted - len(found)]
        size += len(held)
        if len(found) >= wanted or size >= most:
            break
    return found


def entries_of(number: int, sequence: int, row: tuple[Any, ...]) -> list[Stored]:
    """The entries of a row of several, from `sequence` on and up to the first that is not as it was written;
    none if it is no such row, or another one.
    """
    last, direction, time, block, checksum = row
    if type(last) is not int or type(direction) is not int or type(time) is not float:
        return []
    way = direction - BLOCK
    if not (0 <= way < len(DIRECTIONS) and type(block) is bytes):
        return []
    frames = read_block(number, last, direction, time, block, checksum)
    first = last - len(frames) + 1
    if not first <= sequence <= last:
        return []
    rest = frames[sequence - first :]
    good = rest[: rest.index(None)] if None in rest else rest
    name = DIRECTIONS[way]
    return [Stored(at, name, frame, time) for at, frame in enumerate(good, sequence) if frame is not None]


def entries_in(number: int, sequence: int, row: tuple[Any, ...]) -> int:
    """How many entries a row of any kind holds, if it is as it was written and begins with `sequence`; else
    none.
    """
    last, direction, time, held, checksum = row
    if not (type(last) is int and type(direction) is int and type(time) is float and type(held) is bytes):
        return 0
    if entry_sum(number, last, direction, time, held) != checksum:
        return 0
    count = int.from_bytes(held[:_WORD], "little") if direction >= BLOCK else 1
    return count if last - count + 1 == sequence else 0
