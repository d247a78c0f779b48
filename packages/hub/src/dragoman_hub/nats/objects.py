"""Payloads too large for a message: stored as chunks in the object store, in order, and read in batches."""

from __future__ import annotations

import asyncio
from secrets import token_hex

from msgspec import Struct

from dragoman.errors import JournalDamaged
from dragoman_hub.nats.bucket import ID
from dragoman_hub.nats.jetstream import JetStream, RetryBudget, refusal
from dragoman_hub.nats.layout import Layout
from dragoman_hub.nats.replies import NoReply

CHUNK_BYTES = 256 * 1024
BATCH, BATCH_BYTES = 32, 8 * 1024 * 1024


class ObjectPlace(Struct, frozen=True):
    """The location of an object: its id, the message of its first chunk, its size."""

    name: str
    first: int
    size: int

    def as_text(self) -> str:
        return f"{self.name} {self.first} {self.size}"


def read_place(text: bytes) -> ObjectPlace:
    try:
        name, first, size = text.decode().split(" ")
        return ObjectPlace(name, int(first), int(size))
    except ValueError:
        raise JournalDamaged("a record does not say where its rest is") from None


class ObjectStore:
    """The objects of all streams; those of one are deleted together."""

    def __init__(self, jetstream: JetStream, layout: Layout) -> None:
        self._jetstream = jetstream
        self._layout = layout

    async def put(self, token: str, data: bytes, *, patience: float) -> ObjectPlace:
        name = token_hex(12)
        subject = self._layout.chunks_of(token, name)
        first = 0
        for number, begin in enumerate(range(0, len(data), CHUNK_BYTES)):
            chunk = data[begin : begin + CHUNK_BYTES]
            seq = await self._put_chunk(subject, chunk, f"{name}.{number}", patience)
            first = first or seq
        return ObjectPlace(name, first, len(data))

    async def get(self, token: str, place: ObjectPlace) -> bytes:
        """Return the whole object. A replica may be behind, so missing chunks are requested again."""
        subject = self._layout.chunks_of(token, place.name)
        parts: list[bytes] = []
        size, seq = 0, place.first
        tries = RetryBudget(self._jetstream.patience)
        while size < place.size:
            batch = await self._jetstream.batch(
                self._layout.objects, subject, seq, most=BATCH, most_bytes=BATCH_BYTES
            )
            for message in batch.messages:
                parts.append(message.data)
                size += len(message.data)
                seq = message.seq + 1
            if not batch.messages:
                try:
                    await tries.again(NoReply("gone"))
                except NoReply:
                    raise JournalDamaged("a part of a large record is gone") from None
            await asyncio.sleep(0)
        return b"".join(parts)

    async def delete(self, token: str, place: ObjectPlace) -> None:
        await self._jetstream.purge(self._layout.objects, self._layout.chunks_of(token, place.name))

    async def delete_all(self, token: str) -> int:
        return await self._jetstream.purge(self._layout.objects, self._layout.chunks_of(token, ">"))

    async def _put_chunk(self, subject: str, chunk: bytes, name: str, patience: float) -> int:
        tries = RetryBudget(patience)
        while True:
            try:
                # The id makes a chunk that was stored, and whose answer was lost, the same chunk.
                ack = await self._jetstream.publish(subject, chunk, {ID: name}, within=tries.answer_seconds())
            except NoReply as error:
                await tries.again(error)
                continue
            if ack.error is not None:
                raise refusal(ack.error)
            return ack.seq
