"""A record: all entries of one append as the payload of one message.

    head | times (8 bytes each) | lengths (4) | directions (1) | the stream's name, in the first | frames

The head says where the record stands in its stream, and in which life of it: a stream that was deleted and
made again has another life, so that what a lagging server still holds of the old one is not taken for the
new. A checksum covers the head, the rest, and the stream's token. Records hold hundreds of entries, so
packing and reading are a few calls for the whole, and one step for each entry.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import JournalDamaged
from dragoman.journal.contract import Direction, Entry, Stored

MAGIC = b"DRG1"
DEFLATED = 1
OUTSIDE = 2
"""The rest of the record is in the object store, under the id that stands in its place."""

DEFLATE_FROM = 4 * 1024
"""Bytes of a frame that is worth it, on average: whole files, and output that is sent again and again."""

DIRECTIONS: tuple[Direction, ...] = ("to_agent", "to_client", "note")
_NUMBERS: dict[Direction, int] = {name: number for number, name in enumerate(DIRECTIONS)}

_HEAD = struct.Struct("<4sBBHIQQdI")
"""Magic, flags, nothing, length of the name, entries, first sequence, life, time of the append, checksum."""

HEAD_BYTES = _HEAD.size


class Head(Struct, frozen=True, gc=False):
    """Where a record stands."""

    flags: int
    name: int
    """Bytes of the stream's name, which the first record of a stream has."""
    count: int
    first: int
    life: int
    time: float
    """When it was appended, by the clock of whoever did."""
    checksum: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def pack(
    token: str,
    frames: Sequence[bytes],
    entries: Sequence[Entry],
    *,
    first: int,
    life: int,
    time: float,
    name: str = "",
) -> tuple[Head, bytes]:
    """The head and the rest. `frames` are those of the entries, without what is secret; the record with which
    a stream begins has its name, if that is not absurdly long.
    """
    known = name.encode(errors="replace") if len(name) < 1 << 14 else b""
    count = len(frames)
    # What SQLite cannot store is not stored here either: a journal can be copied both ways.
    times = [moment if (moment := entry.time + 0.0) == moment else 0.0 for entry in entries]
    numbers = _NUMBERS
    rest = b"".join(
        [
            struct.pack(f"<{count}d{count}I", *times, *map(len, frames)),
            bytes([numbers[entry.direction] for entry in entries]),
            known,
            *frames,
        ]
    )
    flags = 0
    if len(rest) > DEFLATE_FROM * count:
        smaller = zlib.compress(rest, 1)
        if len(smaller) < len(rest) * 3 // 4:
            flags, rest = DEFLATED, smaller
    return _sealed(token, Head(flags, len(known), count, first, life, time, 0), rest), rest


def write(head: Head, rest: bytes) -> bytes:
    """The payload of a message."""
    return _head(head) + rest


def write_outside(token: str, head: Head, rest: bytes, place: str) -> bytes:
    """The payload of a message whose rest is elsewhere."""
    return _head(_sealed(token, replace(head, flags=head.flags | OUTSIDE), rest)) + place.encode()


def read_head(payload: bytes) -> Head:
    try:
        magic, flags, nothing, name, count, first, life, time, checksum = _HEAD.unpack_from(payload)
    except struct.error:
        raise JournalDamaged("a record is shorter than its head") from None
    if magic != MAGIC or nothing:
        raise JournalDamaged("a message is no record of this version")
    return Head(flags, name, count, first, life, time, checksum)


def read_rest(token: str, head: Head, rest: bytes, *, after: int = 0) -> list[Stored]:
    """The entries behind sequence `after`, if all is as it was written."""
    if _sum(token, head, rest) != head.checksum:
        raise JournalDamaged(f"the record of entries {head.first} to {head.last} was changed")
    if head.flags & DEFLATED:
        rest = zlib.decompress(rest)
    return _entries(head, rest, skip=max(0, after + 1 - head.first))


def read_name(head: Head, rest: bytes) -> str:
    """The stream's name, of a record that has it and has been read without complaint."""
    if head.flags & DEFLATED:
        rest = zlib.decompress(rest)
    begin = head.count * 13
    return rest[begin : begin + head.name].decode(errors="replace")


def _entries(head: Head, rest: bytes, *, skip: int) -> list[Stored]:
    count = head.count
    numbers = struct.unpack_from(f"<{count}d{count}I", rest)
    lengths = numbers[count:]
    begin = count * 13 + head.name + sum(lengths[:skip])
    ways = rest[count * 12 : count * 13]
    found: list[Stored] = []
    add, names = found.append, DIRECTIONS
    for number in range(skip, count):
        end = begin + lengths[number]
        add(Stored(head.first + number, names[ways[number]], rest[begin:end], numbers[number]))
        begin = end
    return found


def _head(head: Head) -> bytes:
    return _HEAD.pack(
        MAGIC, head.flags, 0, head.name, head.count, head.first, head.life, head.time, head.checksum
    )


def _sum(token: str, head: Head, rest: bytes) -> int:
    bare = _head(replace(head, checksum=0))
    return zlib.crc32(rest, zlib.crc32(bare, zlib.crc32(token.encode())))


def _sealed(token: str, head: Head, rest: bytes) -> Head:
    return replace(head, checksum=_sum(token, head, rest))
