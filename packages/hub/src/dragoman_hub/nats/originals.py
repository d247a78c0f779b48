"""The unredacted originals of pending entries, in a JetStream stream of their own that nothing else reads.

Each original is one message, or several if it is large, under the token and the sequence of its entry. It is
written before the entry, so that no entry that needs one is ever there without. Of two nodes that write one
stream at the same time, only one stores an entry in a place: an original bears a mark of the redacted form
that it belongs to, and counts only for the entry that has this form. What is dropped is deleted message by
message, which makes the server overwrite it; what nobody drops goes after `ORIGINALS_SECONDS`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from dragoman_hub.nats.bucket import ID
from dragoman_hub.nats.jetstream import NOT_FOUND, JetStream, RetryBudget, StoredMessage, refusal
from dragoman_hub.nats.layout import Layout
from dragoman_hub.nats.replies import NoReply
from dragoman_local.journal.contract import StoredEntry

CHUNK_BYTES = 256 * 1024
BATCH, BATCH_BYTES = 64, 8 * 1024 * 1024
PART, TIME, MARK = "Dragoman-Part", "Dragoman-Time", "Dragoman-Entry"
"""Headers: the part of a message and the number of parts, the time of its entry, and the mark of its entry's
redacted form.
"""

DELETE_FAILED = 10057
"""The error of a cluster for a missing message."""

STREAMS = 16_384
"""The most streams whose originals are known."""


class KeptOriginal(NamedTuple):
    """An original, and the mark of its entry."""

    mark: str
    frame: bytes


def mark_of(entry: StoredEntry) -> str:
    """Return a key for an entry, made only from its stored form, so that it reveals nothing else."""
    place = f"{entry.sequence} {entry.direction} ".encode()
    return sha256(place + entry.frame).hexdigest()[:32]


class NatsOriginals:
    """The originals of all streams. It remembers which exist, so that dropping none needs no request."""

    def __init__(self, jetstream: JetStream, layout: Layout) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._messages: OrderedDict[str, dict[int, list[int]]] = OrderedDict()  # token → sequence → messages

    async def put(
        self, token: str, originals: Sequence[StoredEntry], marks: Mapping[int, str], *, patience: float
    ) -> None:
        """Store originals. `marks` are those of the entries, by their sequence."""
        by_sequence = await self._messages_of(token)
        for original in originals:
            messages = by_sequence.setdefault(original.sequence, [])
            name = token_hex(8)
            starts = range(0, len(original.frame), CHUNK_BYTES)
            for part, begin in enumerate(starts):
                headers = {
                    ID: f"{name}.{part}",  # what is sent again is the same chunk
                    PART: f"{part}/{len(starts)}",
                    TIME: repr(original.time),
                    MARK: marks[original.sequence],
                }
                chunk = original.frame[begin : begin + CHUNK_BYTES]
                subject = self._layout.original_of(token, original.sequence)
                messages.append(await self._publish(subject, chunk, headers, patience))

    async def read(self, token: str) -> dict[int, list[KeptOriginal]]:
        """Return originals by their sequence; one with a missing part is left out."""
        parts: dict[tuple[int, str], list[StoredMessage]] = {}
        message_seqs: dict[int, list[int]] = {}
        async for message in self._from_leader(self._layout.original_of(token, ">")):
            sequence = int(message.subject.rpartition(".")[2])
            name = message.headers.get(ID, "").partition(".")[0]
            parts.setdefault((sequence, name), []).append(message)
            message_seqs.setdefault(sequence, []).append(message.seq)
        self._learn(token, message_seqs)
        originals: dict[int, list[KeptOriginal]] = {}
        for (sequence, _), part in parts.items():
            if _is_complete(part):
                frame = b"".join(message_part.data for message_part in part)
                originals.setdefault(sequence, []).append(KeptOriginal(part[0].headers.get(MARK, ""), frame))
        return originals

    async def drop(self, token: str, sequences: Iterable[int] | None = None) -> None:
        """Erase the originals of these entries, or all originals of the stream."""
        by_sequence = await self._messages_of(token)
        for sequence in list(by_sequence) if sequences is None else sequences:
            for message in by_sequence.pop(sequence, ()):
                await self._delete(message)

    async def drop_before(self, time: float) -> int:
        by_subject: dict[str, list[int]] = {}
        async for message in self._from_any(self._layout.original_of(">")):
            if float(message.headers.get(TIME, "0")) < time:
                by_subject.setdefault(message.subject, []).append(message.seq)
        for subject, messages in by_subject.items():
            token, sequence = subject.split(".")[-2:]
            self._messages.get(token, {}).pop(int(sequence), None)
            for message_seq in messages:
                await self._delete(message_seq)
        return len(by_subject)

    def begin(self, token: str) -> None:
        """Note the start of a stream, which has no originals."""
        self._learn(token, {})

    def forget(self, token: str) -> None:
        self._messages.pop(token, None)

    async def _messages_of(self, token: str) -> dict[int, list[int]]:
        if token not in self._messages:
            await self.read(token)
        return self._messages[token]

    def _learn(self, token: str, by_sequence: dict[int, list[int]]) -> None:
        self._messages[token] = by_sequence
        while len(self._messages) > STREAMS:
            self._messages.popitem(last=False)

    async def _from_leader(self, subjects: str) -> AsyncIterator[StoredMessage]:
        """Read from the leader: the reader acts on the result when it takes a session over."""
        seq = 1
        while (
            message := await self._jetstream.next_message(self._layout.originals, subjects, seq)
        ) is not None:
            seq = message.seq + 1
            yield message

    async def _from_any(self, subjects: str) -> AsyncIterator[StoredMessage]:
        seq = 1
        while True:
            batch = await self._jetstream.batch(
                self._layout.originals, subjects, seq, most=BATCH, most_bytes=BATCH_BYTES
            )
            for message in batch.messages:
                seq = message.seq + 1
                yield message
            if not batch.messages:
                return

    async def _delete(self, message_seq: int) -> None:
        body = {"seq": message_seq}
        what = f"STREAM.MSG.DELETE.{self._layout.originals}"
        await self._jetstream.api(what, body, allow=(NOT_FOUND, DELETE_FAILED))

    async def _publish(self, subject: str, data: bytes, headers: Mapping[str, str], patience: float) -> int:
        tries = RetryBudget(patience)
        while True:
            try:
                ack = await self._jetstream.publish(subject, data, headers, within=tries.answer_seconds())
            except NoReply as error:
                await tries.again(error)
                continue
            if ack.error is not None:
                raise refusal(ack.error)
            return ack.seq


def _is_complete(messages: Sequence[StoredMessage]) -> bool:
    """Whether these are all parts, in their order."""
    count = len(messages)
    return [message.headers.get(PART) for message in messages] == [f"{part}/{count}" for part in range(count)]
