"""A record: all entries of one append as the payload of one message.

    head | number of runs | runs | the stream's name, in the first | the frames of each run

A run is what entries that follow each other have in common: their moment, how many they are, their bytes and
their direction. Frames without newlines, which is nearly all, have one behind each, so that whoever wants
them all takes them as they are; of others, the lengths stand before them.

The head says where the record stands in its stream, and in which life of it: a stream that was deleted and
made again has another life, so that what a lagging server still holds of the old one is not taken for the
new. A checksum covers the head, the rest, and the stream's token.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import JournalDamaged
from dragoman_local.journal.contract import Direction
from dragoman_local.journal.entry_runs import FrameLines, FrameRun, text_of

MAGIC = b"DRG2"
DEFLATED = 1
OUTSIDE = 2
"""The rest of the record is in the object store, under the id in its place."""

DEFLATE_FROM = 4 * 1024
"""The average bytes of a frame from which on compression is worth it: whole files, and repeated output."""

THREAD_BYTES = 256 * 1024
"""The bytes above which a record is packed and read in a thread, because it would block the loop."""

DIRECTIONS: tuple[Direction, ...] = ("to_agent", "to_client", "note")
_NUMBERS: dict[Direction, int] = {name: number for number, name in enumerate(DIRECTIONS)}

_HEAD = struct.Struct("<4sBBHIQQdI")
"""Magic, flags, nothing, length of the name, entries, first sequence, life, time of the append, checksum."""

HEAD_BYTES = _HEAD.size

_COUNT = struct.Struct("<I")
_RUN = struct.Struct("<dIIB")
"""Time, entries, bytes, direction."""

LINES = 16
"""Added to the number of a direction: each frame has a newline after it, and none inside."""


class Head(Struct, frozen=True, gc=False):
    """The position of a record."""

    flags: int
    name: int
    """The bytes of the stream's name, which the first record of a stream has."""
    count: int
    first: int
    life: int
    time: float
    """The time of the append, by the writer's clock."""
    checksum: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def pack(
    token: str, runs: Sequence[FrameRun], *, first: int, life: int, time: float, name: str = ""
) -> tuple[Head, bytes]:
    """Return the head and the rest. The runs contain no secrets; the first record of a stream has its name,
    unless it is very long.
    """
    name_bytes = name.encode(errors="replace") if len(name) < 1 << 14 else b""
    table, texts = [], []
    for run in runs:
        lines, text = _write_frames(run.frames)
        # What SQLite cannot store is not stored here either: a journal can be copied both ways.
        moment = run.time + 0.0 if run.time == run.time else 0.0
        table.append(_RUN.pack(moment, len(run.frames), len(text), _NUMBERS[run.direction] + lines))
        texts.append(text)
    rest = b"".join((_COUNT.pack(len(table)), *table, name_bytes, *texts))
    count = sum([len(run.frames) for run in runs])
    flags = 0
    if len(rest) > DEFLATE_FROM * count:
        smaller = zlib.compress(rest, 1)
        if len(smaller) < len(rest) * 3 // 4:
            flags, rest = DEFLATED, smaller
    return _with_checksum(token, Head(flags, len(name_bytes), count, first, life, time, 0), rest), rest


def _write_frames(frames: Sequence[bytes]) -> tuple[int, bytes]:
    """The flag that says how the frames are written, and their bytes."""
    text = text_of(frames)
    if type(frames) is FrameLines or len(text) - len(text.replace(b"\n", b"")) == len(frames):
        return LINES, text
    return 0, struct.pack(f"<{len(frames)}I", *map(len, frames)) + b"".join(frames)


def write(head: Head, rest: bytes) -> bytes:
    """Return the payload of a message."""
    return _head(head) + rest


def write_outside(token: str, head: Head, rest: bytes, place: str) -> bytes:
    """Return the payload of a message whose rest is elsewhere."""
    return _head(_with_checksum(token, replace(head, flags=head.flags | OUTSIDE), rest)) + place.encode()


def read_head(payload: bytes) -> Head:
    try:
        magic, flags, nothing, name, count, first, life, time, checksum = _HEAD.unpack_from(payload)
    except struct.error:
        raise JournalDamaged("a record is shorter than its head") from None
    if magic != MAGIC or nothing:
        raise JournalDamaged("a message is not a record of this version")
    return Head(flags, name, count, first, life, time, checksum)


def read_rest(token: str, head: Head, rest: bytes, *, after: int = 0) -> list[FrameRun]:
    """Return the entries after the sequence `after`, if the record is intact."""
    if _sum(token, head, rest) != head.checksum:
        raise JournalDamaged(f"the record of entries {head.first} to {head.last} was changed")
    return list(_runs(head, _inflate(head, rest), skip=max(0, after + 1 - head.first)))


def _inflate(head: Head, rest: bytes) -> bytes:
    return zlib.decompress(rest) if head.flags & DEFLATED else rest


def _names_place(rest: bytes) -> int:
    return _COUNT.size + _RUN.size * int(_COUNT.unpack_from(rest)[0])


def _runs(head: Head, rest: bytes, *, skip: int) -> Iterator[FrameRun]:
    begin = _names_place(rest)
    position = begin + head.name
    for time, count, size, direction in _RUN.iter_unpack(rest[_COUNT.size : begin]):
        if skip < count:
            text = rest[position : position + size]
            frames = FrameLines(text, count) if direction & LINES else _split_frames(text, count)
            yield FrameRun(DIRECTIONS[direction & ~LINES], frames[skip:] if skip else frames, time)
        skip = max(0, skip - count)
        position += size


def _split_frames(text: bytes, count: int) -> list[bytes]:
    frames: list[bytes] = []
    position = 4 * count
    for size in struct.unpack_from(f"<{count}I", text):
        frames.append(text[position : position + size])
        position += size
    return frames


def _head(head: Head) -> bytes:
    return _HEAD.pack(
        MAGIC, head.flags, 0, head.name, head.count, head.first, head.life, head.time, head.checksum
    )


def _sum(token: str, head: Head, rest: bytes) -> int:
    bare = _head(replace(head, checksum=0))
    return zlib.crc32(rest, zlib.crc32(bare, zlib.crc32(token.encode())))


def _with_checksum(token: str, head: Head, rest: bytes) -> Head:
    return replace(head, checksum=_sum(token, head, rest))
