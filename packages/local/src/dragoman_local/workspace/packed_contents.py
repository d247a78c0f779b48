"""File contents by digest, in an SQLite table: each stored once, compressed against earlier contents.

A content is packed with deflate, behind a window of what it was made of: versions of one file cost what is
different in them. Chains are bounded, so that reading stays quick. Transactions are the caller's.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import msgspec

from dragoman.decoders import msgpack_decoder
from dragoman.errors import LocalMistake
from dragoman_local.workspace.snapshot_entries import MEBIBYTE

TABLE = """
create table if not exists blobs (
    id integer primary key, digest blob not null, base integer, links integer not null,
    size integer not null, data blob not null
);
create index if not exists blobs_by_digest on blobs (substr(digest, 1, 6));
"""

MOST_LINKS = 200
"""The most contents to unpack for one; more would make reading slow."""

WINDOW = 32 * 1024
"""The distance in which the compression searches for equal parts."""

RECENT_BYTES = 16 * MEBIBYTE
"""The bytes of recent contents in memory, as bases for new ones."""

_PARTS = msgpack_decoder(tuple[int, int, bytes])


class ContentSeal(Protocol):
    """Encrypts a store (`journal.seal.TreeSeal`)."""

    @property
    def id(self) -> str: ...
    def hide(self, name: bytes, /) -> bytes: ...
    def show(self, hidden: bytes, /) -> bytes | None: ...
    def seal(self, data: bytes, place: bytes, /) -> bytes: ...
    def open(self, sealed: bytes, place: bytes, /) -> bytes | None: ...


class PackedContents:
    """The table of contents, for one thread at a time. A seal hides digests and encrypts data."""

    def __init__(self, seal: ContentSeal | None = None) -> None:
        self._seal = seal
        self._recent: OrderedDict[int, bytes] = OrderedDict()
        self._recent_bytes = 0
        self._version = 0

    def keep(self, connection: sqlite3.Connection, contents: Mapping[str, tuple[bytes, str | None]]) -> int:
        """Store contents by digest, each compressed against the content with the given digest; return the new
        bytes.
        """
        added = 0
        self._forget_changed(connection)
        for name, (data, base_name) in contents.items():
            digest = self._digest(name)
            if self._row(connection, digest) is None:
                base = None if base_name is None else self._digest(base_name)
                self._insert(connection, digest, data, base)
                added += len(data)
        return added

    def missing(self, connection: sqlite3.Connection, digests: Iterable[str]) -> set[str]:
        """Return digests without stored content."""
        return {name for name in digests if self._row(connection, self._digest(name)) is None}

    def sweep(self, connection: sqlite3.Connection, live: Collection[int]) -> None:
        """Remove all contents except those with these numbers; contents compressed against removed ones are
        stored again.
        """
        rows = connection.execute("select id, digest, base from blobs").fetchall()
        dead = {number for number, _, _ in rows if number not in live}
        for number, digest, base in rows:
            if number not in dead and base in dead:
                packed = self._sealed(_pack(self._unpacked(connection, number), b""), digest)
                connection.execute(
                    "update blobs set base = null, links = 0, data = ? where id = ?", (packed, number)
                )
        connection.executemany("delete from blobs where id = ?", ((number,) for number in dead))
        self._recent.clear()
        self._recent_bytes = 0

    def content(self, connection: sqlite3.Connection, name: str) -> bytes:
        """Return the stored content with a digest; FileNotFoundError if there is none."""
        self._forget_changed(connection)
        row = self._row(connection, self._digest(name))
        if row is None:
            raise FileNotFoundError(f"no content is kept under {name}")
        return self._unpacked(connection, row[0])

    def _forget_changed(self, connection: sqlite3.Connection) -> None:
        """Another process may have removed contents, and used their numbers for others."""
        version = connection.execute("pragma data_version").fetchone()[0]
        if version != self._version:
            self._version = version
            self._recent.clear()
            self._recent_bytes = 0

    def _row(self, connection: sqlite3.Connection, digest: bytes) -> tuple[int, int] | None:
        """Its number, and how many others have to be unpacked for it."""
        row: tuple[int, int] | None = connection.execute(
            "select id, links from blobs where substr(digest, 1, 6) = substr(?1, 1, 6) and digest = ?1",
            (digest,),
        ).fetchone()
        return row

    def _insert(self, connection: sqlite3.Connection, digest: bytes, data: bytes, base: bytes | None) -> None:
        base_row = None if base is None else self._row(connection, base)
        number, links, packed = None, 0, b""
        if base_row is not None and base_row[1] < MOST_LINKS:
            number, links = base_row[0], base_row[1] + 1
            against = self._unpacked(connection, number)
            packed = _pack_against(against, data)
            if len(against) <= WINDOW:  # what moved within it may be anywhere in the base
                packed = min(packed, _pack_parts(0, 0, data, against), key=len)
        if number is None or len(packed) > len(data) // 8:  # else it is small enough to be told apart
            alone = _pack(data, b"")
            if number is None or len(alone) <= len(packed):
                number, links, packed = None, 0, alone
        cursor = connection.execute(
            "insert into blobs (digest, base, links, size, data) values (?, ?, ?, ?, ?)",
            (digest, number, links, len(data), self._sealed(packed, digest)),
        )
        self._remember(int(cursor.lastrowid or 0), data)

    def _unpacked(self, connection: sqlite3.Connection, number: int) -> bytes:
        chain: list[bytes] = []
        at: int | None = number
        while at is not None and at not in self._recent:
            query = "select base, data, digest from blobs where id = ?"
            at, packed, digest = connection.execute(query, (at,)).fetchone()
            chain.append(packed if self._seal is None else unsealed(self._seal.open(packed, digest)))
        data = _unpack(chain.pop(), b"") if at is None else self._recent[at]
        for packed in reversed(chain):
            data = _unpack_against(data, packed)
        self._remember(number, data)
        return data

    def _digest(self, name: str) -> bytes:
        digest = bytes.fromhex(name)
        return digest if self._seal is None else self._seal.hide(digest)

    def _sealed(self, packed: bytes, digest: bytes) -> bytes:
        return packed if self._seal is None else self._seal.seal(packed, digest)

    def _remember(self, number: int, data: bytes) -> None:
        self._recent_bytes += len(data) - len(self._recent.pop(number, b""))
        self._recent[number] = data
        while self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= len(self._recent.popitem(last=False)[1])


def unsealed(data: bytes | None) -> bytes:
    """Raises `LocalMistake` for what was not sealed for its place."""
    if data is None:
        raise LocalMistake("the sealed memory of turns was changed, and can't be read")
    return data


def _pack(data: bytes, like: bytes, *, level: int = 6) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, like[-WINDOW:])
    return packer.compress(data) + packer.flush()


def _unpack(packed: bytes, like: bytes) -> bytes:
    unpacker = zlib.decompressobj(-15, like[-WINDOW:])
    return unpacker.decompress(packed) + unpacker.flush()


def _pack_against(base: bytes, data: bytes) -> bytes:
    """How much both begin and end with, and what is between, packed with what is between in the base."""
    most = min(len(base), len(data))
    head = _common_length(base[:most], data[:most])
    tail = _common_length(base[len(base) - most + head :][::-1], data[len(data) - most + head :][::-1])
    return _pack_parts(head, tail, data, base)


def _pack_parts(head: int, tail: int, data: bytes, base: bytes) -> bytes:
    middle = _pack(data[head : len(data) - tail], base[head : len(base) - tail], level=9)
    return msgspec.msgpack.encode((head, tail, middle))


def _unpack_against(base: bytes, packed: bytes) -> bytes:
    head, tail, middle = _PARTS.decode(packed)
    end = len(base) - tail
    return base[:head] + _unpack(middle, base[head:end]) + base[end:]


def _common_length(left: bytes, right: bytes) -> int:
    """How many bytes two texts of one length begin with alike."""
    if left == right:
        return len(left)
    low, high = 0, len(left)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if left[:middle] == right[:middle] else (low, middle)
    return low
