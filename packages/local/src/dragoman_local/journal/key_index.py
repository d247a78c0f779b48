"""The index of idempotency keys in a journal's file: one row for each key of a stream.

A row is written in the transaction that stores the entry, so that neither is there without the other. It
holds a hash of the key; in a sealed journal that is a keyed one, so that nobody can read or guess a key.

Streams that a repair has saved without their index stand in the table `unkeyed`; see `key_index_build`.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable

import msgspec

from dragoman.errors import JournalDamaged
from dragoman_local.journal.contract import KeyEntries
from dragoman_local.journal.idempotency import KeyedEntry, KeyKind, hash_of
from dragoman_local.journal.seal import Seal

FIND = """
select streams.number, unkeyed.number is not null, prompt, answer, made, keys.sum from streams
left join unkeyed on unkeyed.number = streams.number
left join keys on keys.number = streams.number and keys.hash = ? where streams.stream = ?
"""
MADE = """
select streams.stream from keys join streams on streams.number = keys.number
where keys.hash = ? and keys.made > 0 order by keys.number limit 1
"""

KINDS: tuple[KeyKind, ...] = ("prompt", "answer", "made")


def _statement(kind: KeyKind) -> str:
    """Add an entry to the row of its key; the first of its kind stays."""
    places = ", ".join("?3" if column == kind else "0" for column in KINDS)
    return (
        f"insert into keys (number, hash, prompt, answer, made, sum) values (?1, ?2, {places}, ?4) "  # noqa: S608  # the names are ours
        f"on conflict (number, hash) do update set {kind} = excluded.{kind}, sum = sum + excluded.sum "
        f"where {kind} = 0"
    )


INSERT = {kind: _statement(kind) for kind in KINDS}


def insert(
    connection: sqlite3.Connection, number: int, entries: Iterable[KeyedEntry], *, seal: Seal | None
) -> None:
    """Insert the keys of new entries, in the transaction that stores the entries."""
    for entry in entries:
        key_hash = _hash(entry.key, seal)
        checksum = _sum(number, key_hash, entry.kind, entry.sequence)
        connection.execute(INSERT[entry.kind], (number, key_hash, entry.sequence, checksum))


def find(
    connection: sqlite3.Connection, stream: str, key: str, *, seal: Seal | None
) -> tuple[KeyEntries | None, bool]:
    """Look up a key in a stream's index, and report whether the index must be built first."""
    key_hash = _hash(key, seal)
    row = connection.execute(FIND, (key_hash, stream)).fetchone()
    if row is None:
        return None, False
    number, is_unmade, *places, checksum = row
    if checksum is None:
        return None, bool(is_unmade)
    parts = [_sum(number, key_hash, kind, place) for kind, place in zip(KINDS, places, strict=True) if place]
    if sum(parts) != checksum:
        raise JournalDamaged("its index of keys was changed on disk", stream=stream)
    return KeyEntries(prompt=places[0], answer=places[1], made=places[2]), bool(is_unmade)


def find_stream_by_key(connection: sqlite3.Connection, key: str, *, seal: Seal | None) -> str | None:
    """Return the stream that was created under a key."""
    row = connection.execute(MADE, (_hash(key, seal),)).fetchone()
    return None if row is None else str(row[0])


def _hash(key: str, seal: Seal | None) -> bytes:
    return hash_of(key, secret=b"" if seal is None else seal.key_secret)


def _sum(number: int, key_hash: bytes, kind: KeyKind, place: object) -> int:
    """The checksum of one entry of a key; a row holds the sum over its entries."""
    try:
        return zlib.crc32(msgspec.msgpack.encode([number, key_hash, kind, place]))
    except TypeError:  # a type byte that changed on disk can make any value of a field
        return -1
