"""The register on NATS: a key-value bucket with compare-and-set writes, and watchers.

A write that is not answered is tried for five seconds and looked for at the leader; what cannot be found
out by then is `JournalError`, and may have happened.
"""

from __future__ import annotations

import asyncio

from dragoman.errors import JournalError, KeyTaken
from dragoman_hub.nats.bucket import Bucket
from dragoman_hub.nats.bucket_follower import BucketFollower
from dragoman_hub.nats.connection import NatsConnection
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.replies import end_tasks
from dragoman_local.journal.shared_state import OnValueChange, RegisterValue, Subscription

WITHIN_SECONDS = 5.0
"""Less than a lease should last: whoever holds one must know in time that it may be lost."""

WATCH_SECONDS = 20.0
"""Until all of it was read once. A server that hangs may be asked several times before another one is: a node
must be able to start then, too.
"""


class NatsRegister:
    """The `Register` over one connection. All its watches share one follower, started with the first."""

    def __init__(self, jetstream: JetStream, wire: NatsConnection, bucket: str) -> None:
        self._bucket = Bucket(jetstream, bucket)
        self._follower = BucketFollower(jetstream, wire, self._bucket, self._on_change)
        self._values: dict[str, RegisterValue] = {}
        self._watches: list[_RegisterWatch] = []
        self._last_revision = 0
        self._starting: asyncio.Task[None] | None = None

    async def create(self, key: str, value: bytes) -> int:
        return self._note_revision(await self._bucket.create(key, value, within=WITHIN_SECONDS))

    async def update(self, key: str, value: bytes, revision: int) -> int:
        if revision <= 0:
            raise KeyTaken(key)
        return self._note_revision(
            await self._bucket.write(key, value, revision=revision, within=WITHIN_SECONDS)
        )

    async def delete(self, key: str, revision: int) -> None:
        if revision <= 0:
            raise KeyTaken(key)
        self._note_revision(await self._bucket.remove(key, revision=revision, within=WITHIN_SECONDS))

    async def get(self, key: str) -> RegisterValue | None:
        return await self._bucket.get(key, within=WITHIN_SECONDS)

    async def watch(self, prefix: str, on_change: OnValueChange) -> Subscription:
        if self._starting is None or (self._starting.done() and self._starting.exception() is not None):
            starting = self._follower.start(within=WATCH_SECONDS)
            self._starting = asyncio.get_running_loop().create_task(starting)
        try:
            await asyncio.shield(self._starting)
            await self._follower.look(least=self._last_revision, within=WATCH_SECONDS)
        except TimeoutError:
            raise JournalError("the register cannot be read now") from None
        watch = _RegisterWatch(prefix, on_change, self._watches)
        for key in sorted(self._values):
            watch.tell(key, self._values[key])
        self._watches.append(watch)
        return watch

    async def aclose(self) -> None:
        await end_tasks([self._starting])
        await self._follower.aclose()
        self._watches.clear()

    def _note_revision(self, revision: int) -> int:
        self._last_revision = max(self._last_revision, revision)
        return revision

    def _on_change(self, key: str, value: RegisterValue | None) -> None:
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value
        for watch in list(self._watches):
            watch.tell(key, value)


class _RegisterWatch:
    def __init__(self, prefix: str, on_change: OnValueChange, among: list[_RegisterWatch]) -> None:
        self._prefix = prefix
        self._on_change = on_change
        self._among = among

    def tell(self, key: str, value: RegisterValue | None) -> None:
        if key.partition(".")[0] == self._prefix:
            self._on_change(key, value)

    async def aclose(self) -> None:
        if self in self._among:
            self._among.remove(self)
