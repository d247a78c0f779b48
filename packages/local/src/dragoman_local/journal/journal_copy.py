"""Copies a journal into another of any kind, and verifies that the copy is identical.

Streams are copied one by one with all that is known about them, the times included; then the copy is read
back, and its digest compared with the original's. A copy that was broken off is finished by another run:
what is there must be the beginning of the original, and only the rest is written. A target that holds
anything else is refused.

Nothing is redacted on the way: what a journal holds was looked through when it was stored.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from dragoman.errors import JournalDamaged, JournalError
from dragoman_local.journal.contract import Entry, Journal, StreamInfo

BATCH_BYTES = 128 * 1024
BATCH_ENTRIES = 1_000
"""The entries of one append: small enough for a message of NATS, large enough that appends cost nothing."""

_FIXED = struct.Struct("<dQ").pack


class OtherContent(JournalError):
    """The target has content that is not in the source; nothing more is written."""


class CopyClock:
    """The time of the entry being copied, as a clock for the target, so that it keeps the original times."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class CopiedStream(Struct, frozen=True, kw_only=True):
    """One stream that is now identical in both journals."""

    stream: str
    entries: int
    written: int
    """How many entries were missing before."""
    digest: str


class StreamDigest:
    """The digest of a stream: its entries with direction, time and frame, and its description."""

    def __init__(self) -> None:
        self._sum = sha256()

    def add(self, entry: Entry) -> None:
        self._sum.update(entry.direction.encode() + b"\0" + _FIXED(entry.time, len(entry.frame)))
        self._sum.update(entry.frame)

    def copy(self) -> str:
        """Return the digest of the entries so far."""
        return self._sum.hexdigest()

    def finish(self, info: StreamInfo) -> str:
        self._sum.update(msgspec.json.encode(info))
        return self._sum.hexdigest()


async def copy_journal(source: Journal, target: Journal, clock: CopyClock) -> AsyncIterator[CopiedStream]:
    """Copy every stream, the oldest change first, so that the target lists them in the same order as the
    source. `clock` gives the target its time.
    """
    source_infos = [info async for info in all_streams(source)]
    target_infos = {info.stream: info async for info in all_streams(target)}
    extra_streams = target_infos.keys() - {info.stream for info in source_infos}
    if extra_streams:
        raise OtherContent(f"the target has {len(extra_streams)} streams that the source does not have")
    for info in reversed(source_infos):
        now = await source.info(info.stream)
        if now is not None:
            yield await _copy_stream(source, target, clock, now, target_infos.get(info.stream))


async def all_streams(
    journal: Journal, *, agent: str | None = None, state: str | None = None, session: str | None = None
) -> AsyncIterator[StreamInfo]:
    """Return every matching stream of a journal, the latest change first."""
    cursor = None
    while True:
        page = await journal.list(agent=agent, state=state, session=session, limit=500, cursor=cursor)
        for info in page.streams:
            yield info
        cursor = page.cursor
        if cursor is None:
            return


async def digest_of(journal: Journal, stream: str, *, last: int) -> str:
    """Return the digest of a stream as stored, up to entry `last`."""
    info = await journal.info(stream)
    if info is None:
        raise JournalError(f"the journal has lost the stream {stream!r}")
    digest = await _entries_digest(journal, stream, last)
    return digest.finish(_with_last(info, last))


async def _copy_stream(
    source: Journal, target: Journal, clock: CopyClock, info: StreamInfo, listed_info: StreamInfo | None
) -> CopiedStream:
    target_info = (await target.info(info.stream)) if listed_info is not None else None
    last = 0 if target_info is None else target_info.last
    if target_info is not None:
        await _check_beginning(source, target, info, target_info)
    clock.now = info.created
    digest, written_count = StreamDigest(), 0
    async for batch in _batches(source, info, digest, last):
        written_count += len(batch)
        await target.append(info.stream, batch, after=last)
        last += len(batch)
    clock.now = info.updated
    if (
        target_info is None
        or written_count
        or _with_last(target_info, info.last) != _with_last(info, info.last)
    ):
        await target.describe(
            info.stream,
            agent=info.agent,
            cwd=info.cwd,
            title=info.title,
            state=info.state,
            session=info.session,
        )
    source_digest = digest.finish(_with_last(info, info.last))
    if await digest_of(target, info.stream, last=info.last) != source_digest:
        raise JournalDamaged("the copy differs from the source", stream=info.stream)
    return CopiedStream(stream=info.stream, entries=info.last, written=written_count, digest=source_digest)


async def _check_beginning(
    source: Journal, target: Journal, info: StreamInfo, target_info: StreamInfo
) -> None:
    """Raise `OtherContent` unless the target's stream is the beginning of the source's."""
    same = target_info.last <= info.last and target_info.created == info.created
    if same and target_info.last:
        source_digest = await _entries_digest(source, info.stream, target_info.last)
        target_digest = await _entries_digest(target, info.stream, target_info.last)
        same = source_digest.copy() == target_digest.copy()
    if not same:
        raise OtherContent(f"the target's stream {info.stream!r} is another one than the source's")


async def _entries_digest(journal: Journal, stream: str, last: int) -> StreamDigest:
    digest = StreamDigest()
    async for page in journal.replay(stream, limit=last):
        for stored_entry in page:
            digest.add(stored_entry.entry)
    return digest


async def _batches(
    source: Journal, info: StreamInfo, digest: StreamDigest, after: int
) -> AsyncIterator[Sequence[Entry]]:
    """The entries behind `after`, in batches; all entries are added to the digest."""
    batch: list[Entry] = []
    size = 0
    async for page in source.replay(info.stream, limit=info.last):
        for stored_entry in page:
            entry = stored_entry.entry
            digest.add(entry)
            if stored_entry.sequence <= after:
                continue
            batch.append(entry)
            size += len(entry.frame)
            if size >= BATCH_BYTES or len(batch) >= BATCH_ENTRIES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _with_last(info: StreamInfo, last: int) -> StreamInfo:
    return msgspec.structs.replace(info, last=last)
