"""Originals of pending entries on NATS: a JetStream stream of their own, which nothing else reads.

Each original is one message, or several if it is large, under the token and the sequence of its entry. It is
written by whoever stored the entry, once that is certain: of two nodes that write one stream, only the one
whose entry stands there writes an original for its place. If the node is lost in between, there is none, and
the entry is known in its redacted form alone. What is dropped is deleted message by message, which makes the
server overwrite it; what nobody drops goes after `ORIGINALS_SECONDS`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from secrets import token_hex

from dragoman.journal.contract import Stored
from dragoman.journal.nats.answers import NoAnswer
from dragoman.journal.nats.buckets import ID
from dragoman.journal.nats.jetstream import NOT_FOUND, JetStream, Message, Tries, refusal
from dragoman.journal.nats.layout import Layout

CHUNK_BYTES = 256 * 1024
BATCH, BATCH_BYTES = 64, 8 * 1024 * 1024
PART, TIME = "Dragoman-Part", "Dragoman-Time"
"""Which part of how many a message is, and the time of its entry."""

DELETE_FAILED = 10057
"""How a cluster says that there is no such message."""

STREAMS = 16_384
"""Streams of which it is known which originals they have."""


class Originals:
    """Those of all streams. It remembers which there are, so that to drop none asks no server."""

    def __init__(self, jetstream: JetStream, layout: Layout) -> None:
        self._jetstream = jetstream
        self._layout = layout
        self._known: OrderedDict[str, dict[int, list[int]]] = OrderedDict()  # token → sequence → messages

    async def put(self, token: str, originals: Sequence[Stored], *, patience: float) -> None:
        known = await self._of(token)
        for stored in originals:
            messages = known.setdefault(stored.sequence, [])
            name = token_hex(8)
            starts = range(0, len(stored.frame), CHUNK_BYTES)
            for part, begin in enumerate(starts):
                headers = {
                    ID: f"{name}.{part}",  # what is sent again is the same chunk
                    PART: f"{part}/{len(starts)}",
                    TIME: repr(stored.time),
                }
                chunk = stored.frame[begin : begin + CHUNK_BYTES]
                subject = self._layout.original_of(token, stored.sequence)
                messages.append(await self._publish(subject, chunk, headers, patience))

    async def read(self, token: str) -> dict[int, bytes]:
        """By their sequence; one of which a part is missing is left out."""
        parts: dict[int, list[Message]] = {}
        async for message in self._from_leader(self._layout.original_of(token, ">")):
            parts.setdefault(_sequence(message), []).append(message)
        self._learn(token, {place: [each.seq for each in held] for place, held in parts.items()})
        return {place: b"".join(each.data for each in held) for place, held in parts.items() if _whole(held)}

    async def drop(self, token: str, sequences: Iterable[int] | None = None) -> None:
        """These, or all of a stream."""
        known = await self._of(token)
        for sequence in list(known) if sequences is None else sequences:
            for message in known.pop(sequence, ()):
                await self._delete(message)

    async def drop_before(self, time: float) -> int:
        found: dict[str, list[int]] = {}
        async for message in self._from_any(self._layout.original_of(">")):
            if float(message.headers.get(TIME, "0")) < time:
                found.setdefault(message.subject, []).append(message.seq)
        for subject, messages in found.items():
            token, sequence = subject.split(".")[-2:]
            self._known.get(token, {}).pop(int(sequence), None)
            for message_seq in messages:
                await self._delete(message_seq)
        return len(found)

    def begin(self, token: str) -> None:
        """A stream begins, and has none."""
        self._learn(token, {})

    def forget(self, token: str) -> None:
        self._known.pop(token, None)

    async def _of(self, token: str) -> dict[int, list[int]]:
        if token not in self._known:
            await self.read(token)
        return self._known[token]

    def _learn(self, token: str, known: dict[int, list[int]]) -> None:
        self._known[token] = known
        while len(self._known) > STREAMS:
            self._known.popitem(last=False)

    async def _from_leader(self, subjects: str) -> AsyncIterator[Message]:
        """True when it is asked: whoever takes a session over acts by it."""
        seq = 1
        while (message := await self._jetstream.following(self._layout.originals, subjects, seq)) is not None:
            seq = message.seq + 1
            yield message

    async def _from_any(self, subjects: str) -> AsyncIterator[Message]:
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
        tries = Tries(patience)
        while True:
            try:
                ack = await self._jetstream.publish(subject, data, headers, within=tries.answer_seconds())
            except NoAnswer as error:
                await tries.again(error)
                continue
            if ack.error is not None:
                raise refusal(ack.error)
            return ack.seq


def _sequence(message: Message) -> int:
    return int(message.subject.rpartition(".")[2])


def _whole(messages: Sequence[Message]) -> bool:
    """Whether these are all parts, in their order."""
    count = len(messages)
    return [message.headers.get(PART) for message in messages] == [f"{part}/{count}" for part in range(count)]
