"""Stores a record at the end of a stream exactly once or not at all, whatever messages are lost.

A record is written over the end that its writer knows: if the end has moved, somebody else has written. An
acknowledgement that is lost proves nothing, so the record is sent again, and if that is refused, the record
that stands where ours would is looked at: one with our id is ours.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from secrets import randbits, token_hex

from dragoman.errors import JournalError
from dragoman_hub.nats.bucket import EXPECTED, ID
from dragoman_hub.nats.jetstream import JetStream, PublishAck, RetryBudget, refusal
from dragoman_hub.nats.key_index import NatsKeyIndex
from dragoman_hub.nats.layout import Layout
from dragoman_hub.nats.objects import ObjectPlace, ObjectStore
from dragoman_hub.nats.originals import NatsOriginals, mark_of
from dragoman_hub.nats.records import THREAD_BYTES, Head, pack, write, write_outside
from dragoman_hub.nats.replies import NoReply
from dragoman_hub.nats.tails import StreamTail, Tails
from dragoman_local.journal.contract import StoredEntry
from dragoman_local.journal.entry_runs import EntryBatch, FrameRun, is_housekeeping, size_of
from dragoman_local.journal.idempotency import KeyedEntry, keyed_entries
from dragoman_local.journal.originals import originals_of
from dragoman_local.journal.redaction import redact_runs

log = logging.getLogger(__name__)

INLINE_BYTES = 512 * 1024
"""The size from which on a record goes to the object store: servers accept a megabyte, and hold all of a
message in memory.
"""


class RecordStore:
    """Stores records. `redact` removes secrets."""

    def __init__(
        self,
        jetstream: JetStream,
        layout: Layout,
        tails: Tails,
        objects: ObjectStore,
        originals: NatsOriginals,
        keys: NatsKeyIndex,
        *,
        redact: Callable[[bytes], bytes] | None,
        clock: Callable[[], float],
    ) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._tails = tails
        self._objects = objects
        self._originals = originals
        self._keys = keys
        self._redact = redact
        self._clock = clock
        self._names, self._run_id = count(), token_hex(8)

    async def store(
        self, stream: str, token: str, entries: EntryBatch, tail: StreamTail, tries: RetryBudget
    ) -> StreamTail | None:
        """Store a record; return the new end when it is certain. None if the end has moved, and nothing was
        stored. An unknown result raises `NoReply`.
        """
        time = tail.time if tail.at and is_housekeeping(entries.runs) else self._clock()
        head, rest, originals, marks, key_entries = await self._pack(stream, token, entries, tail, time)
        for entry in key_entries:
            if entry.kind == "made":
                await self._keys.claim(stream, token, entry.key)
        if not tail.at and not tail.last:
            self._originals.begin(token)
        if originals:
            await self._keep(stream, token, originals, marks, tries)
        place: ObjectPlace | None = None
        payload = b""
        if len(rest) > min(INLINE_BYTES, self._jetstream.wire.max_payload - 4096):
            place = await self._objects.put(token, rest, patience=tries.remaining)
            payload = write_outside(token, head, rest, place.as_text())
        at = await self._send(token, payload or write(head, rest), tail, tries)
        if at is None:
            if place is not None:
                await self._objects.delete(token, place)
            return None
        self._tails.learn_mark(token, head, at)
        self._keys.on_stored(stream, token, head, key_entries)
        return StreamTail(head.last, at, head.life, time)

    async def _pack(
        self, stream: str, token: str, entries: EntryBatch, tail: StreamTail, time: float
    ) -> tuple[Head, bytes, Sequence[StoredEntry], Mapping[int, str], Sequence[KeyedEntry]]:
        """The record, the originals of its entries, and the marks of those that have one."""
        redact = self._redact
        # A record with nothing before it begins a life, and says whose.
        life, name = (tail.life, "") if tail.at else (randbits(63), stream)

        def work() -> tuple[Head, bytes, Sequence[StoredEntry], Mapping[int, str], Sequence[KeyedEntry]]:
            runs = entries.runs if redact is None else redact_runs(entries, redact)
            head, rest = pack(token, runs, first=tail.last + 1, life=life, time=time, name=name)
            key_entries = keyed_entries(entries.runs, tail.last)  # redaction may change a key
            originals = originals_of(entries.runs, runs, tail.last)
            return head, rest, originals, _marks(originals, runs, tail.last), key_entries

        if sum(size_of(run.frames) for run in entries.runs) > THREAD_BYTES:
            return await asyncio.to_thread(work)
        return work()

    async def _keep(
        self,
        stream: str,
        token: str,
        originals: Sequence[StoredEntry],
        marks: Mapping[int, str],
        tries: RetryBudget,
    ) -> None:
        """Store the entries even if their originals can't be stored: without one, no hub acts on an entry
        after a crash.
        """
        try:
            await self._originals.put(token, originals, marks, patience=tries.remaining)
        except JournalError as error:
            count = len(originals)
            log.warning("stream %s: %d originals could not be stored beside it: %s", stream, count, error)

    async def _send(self, token: str, payload: bytes, tail: StreamTail, tries: RetryBudget) -> int | None:
        """Write the message with the record; None if the end is elsewhere."""
        subject = self._layout.subject_of(token)
        name = f"{self._run_id}.{next(self._names)}"
        headers = {ID: name, EXPECTED: str(tail.at)}
        while True:
            try:
                ack = await self._jetstream.publish(subject, payload, headers, within=tries.answer_seconds())
                if ack.error is None:
                    return ack.seq
                if not ack.has_moved:
                    raise refusal(ack.error)
                return await self._look(token, ack, name, tail, tries)
            except NoReply as error:
                doubt = NoReply(f"an append was not acknowledged, and may have been stored: {error}")
                await tries.again(doubt)

    async def _look(
        self, token: str, ack: PublishAck, name: str, tail: StreamTail, tries: RetryBudget
    ) -> int | None:
        """The record at our place: this hub's, another's, or not known to this server yet."""
        stream, subject = self._layout.stream_of(token), self._layout.subject_of(token)
        message = await self._jetstream.next_message(stream, subject, tail.at + 1, patience=tries.remaining)
        if message is not None:
            return message.seq if message.headers.get(ID) == name else None
        if ack.true_last == 0:
            return None  # it was deleted meanwhile
        raise NoReply("a server is behind")


def _marks(originals: Sequence[StoredEntry], runs: Sequence[FrameRun], last: int) -> dict[int, str]:
    """The marks of the entries behind `last` that have an original."""
    sequences = {original.sequence for original in originals}
    marks: dict[int, str] = {}
    for run in runs if sequences else ():
        for sequence, frame in enumerate(run.frames, last + 1):
            if sequence in sequences:
                marks[sequence] = mark_of(StoredEntry(sequence, run.direction, frame, run.time))
        last += len(run.frames)
    return marks
