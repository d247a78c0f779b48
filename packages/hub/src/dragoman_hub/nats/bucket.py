"""A key-value bucket whose writers must know the current revision.

Every write carries an id. If its acknowledgement is lost it is sent again, and if that is refused because the
key has moved, the value that is there is looked at: one with our id is our own, and the write succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex

from dragoman.errors import KeyTaken
from dragoman_hub.nats.jetstream import JetStream, PublishAck, RetryBudget, StoredMessage, refusal
from dragoman_hub.nats.layout import MARKER_SECONDS
from dragoman_hub.nats.replies import NoReply
from dragoman_local.journal.shared_state import RegisterValue

OPERATION = "KV-Operation"
ID = "Nats-Msg-Id"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"


class RevisionMoved(KeyTaken):
    """The key has another revision; `message` is its current value."""

    def __init__(self, key: str, message: StoredMessage | None) -> None:
        super().__init__(key)
        self.message = message


class Bucket:
    """Writes and consistent reads of a bucket. Reads come from the leader."""

    def __init__(self, jetstream: JetStream, bucket: str) -> None:
        self._jetstream = jetstream
        self.stream = f"KV_{bucket}"
        self.root = f"$KV.{bucket}."

    async def write(self, key: str, value: bytes, *, revision: int, within: float) -> int:
        """Write a value; return the new revision. Raises `RevisionMoved` if the key's revision is not
        `revision`; 0 means no value.
        """
        return await self._write(key, value, {}, revision, within)

    async def create(self, key: str, value: bytes, *, within: float) -> int:
        """Create a value; return the first revision. Raises `RevisionMoved` if the key has a value. A deleted
        key has none.
        """
        try:
            return await self._write(key, value, {}, 0, within)
        except RevisionMoved as error:
            if error.message is None or not is_marker(error.message.headers):
                raise
            return await self._write(key, value, {}, error.message.seq, within)

    async def remove(self, key: str, *, revision: int, within: float) -> int:
        """Delete a value and leave a mark, which disappears after a while; return the
        revision of the mark.
        """
        marks = {OPERATION: "DEL", "Nats-TTL": f"{MARKER_SECONDS}s"}
        return await self._write(key, b"", marks, revision, within)

    async def last(self, key: str, *, within: float | None = None) -> StoredMessage | None:
        """Return the last written value, or its mark."""
        return await self._jetstream.last(self.stream, self.root + key, patience=within)

    async def get(self, key: str, *, within: float | None = None) -> RegisterValue | None:
        message = await self.last(key, within=within)
        return (
            None
            if message is None or is_marker(message.headers)
            else RegisterValue(message.data, message.seq)
        )

    async def _write(
        self, key: str, value: bytes, marks: Mapping[str, str], revision: int, within: float
    ) -> int:
        name = token_hex(8)
        headers = {ID: name, EXPECTED: str(revision), **marks}
        tries = RetryBudget(within)
        while True:
            try:
                subject, within = self.root + key, tries.answer_seconds()
                ack = await self._jetstream.publish(subject, value, headers, within=within)
                if ack.error is None:
                    return ack.seq
                if not ack.has_moved:
                    raise refusal(ack.error)
                return await self._look(key, ack, name, revision, tries)
            except NoReply as error:
                await tries.again(error)

    async def _look(self, key: str, ack: PublishAck, name: str, revision: int, tries: RetryBudget) -> int:
        """The revision, if the value is this hub's; `NoReply` if this server does not know yet."""
        message = await self.last(key, within=tries.remaining)
        if message is not None and message.headers.get(ID) == name:
            return message.seq
        last_seq = 0 if message is None else message.seq
        if last_seq < (ack.true_last or 0) or (ack.true_last is None and last_seq == revision):
            raise NoReply("a server is behind")
        raise RevisionMoved(key, message)


def is_marker(headers: Mapping[str, str]) -> bool:
    return OPERATION in headers or "Nats-Marker-Reason" in headers
