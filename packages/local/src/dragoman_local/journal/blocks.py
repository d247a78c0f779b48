"""Database rows with many frames: entries of the same append, direction and time share a row.

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
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from dragoman_local.journal.entry_runs import FrameLines, FrameRun, at_most, size_of
from dragoman_local.journal.tables import DIRECTIONS, PACK_FROM, entry_sum, place_sum

BLOCK = 16
"""Added to the number of a direction: the row holds several frames."""

MOST = 512
MOST_BYTES = 64 * 1024
"""The most bytes of one row: a reader of one entry reads all of them."""

_WORD = 4


def cut(frames: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Cut the frames of one run into rows. A frame that is worth deflating gets a row of its own."""
    sizes = list(map(len, frames))
    if max(sizes, default=0) >= PACK_FROM:
        sizes = [size if size < PACK_FROM else MOST_BYTES + 1 for size in sizes]
    ends = list(accumulate(sizes, initial=0))
    first = 0
    while first < len(frames):
        fitting = bisect_right(ends, ends[first] + MOST_BYTES, first) - 1
        last = max(first + 1, min(fitting, first + MOST))
        yield frames[first:last]
        first = last


def write_block(number: int, last: int, direction: int, time: float, frames: Sequence[bytes]) -> bytes:
    """Encode frames for storage in one row, the last of them at `last`."""
    count = len(frames)
    seed = place_sum(number, last, direction, time)
    sums = map(zlib.crc32, frames, range(seed, seed + count))  # its place in the row is part of each
    head = struct.pack(f"<{1 + 2 * count}I", count, *map(len, frames), *sums)
    return b"\n".join((head, *frames, b""))


def read_block(
    number: int, last: int, direction: int, time: float, block: bytes, checksum: object, *, sequence: int
) -> Sequence[bytes]:
    """Return the frames of a row from `sequence` on, up to the first damaged one."""
    count = int.from_bytes(block[:_WORD], "little")
    start, skip = _WORD * (1 + 2 * count) + 1, sequence - (last - count + 1)
    seed = place_sum(number, last, direction, time)
    sound = zlib.crc32(block, seed) == checksum
    if not (0 <= skip < count and start <= len(block)) or (count > MOST and not sound):
        return ()
    if sound:
        text = block[start:]
        if len(text) - len(text.replace(b"\n", b"")) == count:  # so none of them has one of its own
            lines = FrameLines(text, count)
            return lines[skip:] if skip else lines
    return list(_read_frames(seed, count, block, start, sound=sound, skip=skip))


def _read_frames(
    seed: int, count: int, block: bytes, start: int, *, sound: bool, skip: int
) -> Iterator[bytes]:
    sizes = struct.unpack_from(f"<{count}I", block, _WORD)
    sums = struct.unpack_from(f"<{count}I", block, _WORD * (1 + count))
    start += sum(sizes[:skip]) + skip
    for place in range(skip, count):
        frame = block[start : start + sizes[place]]
        if not sound and zlib.crc32(frame, seed + place) != sums[place]:
            return
        yield frame
        start += sizes[place] + 1


def read_runs(
    number: int,
    after: int,
    rows: Iterable[tuple[Any, ...]],
    *,
    limit: int,
    most: int,
    read_other: Callable[[int, tuple[Any, ...]], FrameRun | None],
    is_sealed: bool = False,
) -> Iterator[FrameRun]:
    """Return the intact entries after `after`, until there are `limit` entries or `most` bytes. `read_other`
    reads deflated or sealed rows, from a sequence on.
    """
    count = size = 0
    for row in rows:
        last, direction, time, payload, checksum = row
        sequence = after + count + 1
        if (
            not is_sealed
            and last == sequence
            and type(payload) is bytes
            and type(time) is float
            and type(direction) is int
            and 0 <= direction < len(DIRECTIONS)
            and zlib.crc32(payload, place_sum(number, last, direction, time)) == checksum
        ):
            yield FrameRun(DIRECTIONS[direction], (payload,), time)
            count += 1
            size += len(payload)
        else:
            run = (None if is_sealed else run_of(number, sequence, row)) or read_other(sequence, row)
            if run is None:
                return
            run = at_most(run, limit - count)
            yield run
            count += len(run.frames)
            size += size_of(run.frames)
        if count >= limit or size >= most:
            return


def run_of(number: int, sequence: int, row: tuple[Any, ...]) -> FrameRun | None:
    """Return the frames of a row of several, from `sequence` on and up to the first damaged one; None if
    there are none, or if it is another row.
    """
    last, direction, time, block, checksum = row
    if type(last) is not int or type(direction) is not int or type(time) is not float:
        return None
    plain_direction = direction - BLOCK
    if not (0 <= plain_direction < len(DIRECTIONS) and type(block) is bytes):
        return None
    frames = read_block(number, last, direction, time, block, checksum, sequence=sequence)
    return FrameRun(DIRECTIONS[plain_direction], frames, time) if frames else None


def entries_in(number: int, sequence: int, row: tuple[Any, ...]) -> int:
    """Return the number of entries in a row of any kind, if it is unchanged and begins with `sequence`;
    otherwise none.
    """
    last, direction, time, payload, checksum = row
    is_row = type(last) is int and type(direction) is int and type(time) is float and type(payload) is bytes
    if not is_row or entry_sum(number, last, direction, time, payload) != checksum:
        return 0
    count = int.from_bytes(payload[:_WORD], "little") if direction >= BLOCK else 1
    return count if last - count + 1 == sequence else 0
