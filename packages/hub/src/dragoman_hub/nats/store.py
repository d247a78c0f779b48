"""Opens everything that nodes share on NATS over one connection: the journal, the register and the bus.

async with open_nats("nats://host:4222/team") as place:
    place.journal, place.register, place.bus
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import decode_json
from dragoman.errors import JournalError, KeyTaken, NobodyListens
from dragoman_hub.nats.bucket import Bucket
from dragoman_hub.nats.bucket_follower import BucketFollower
from dragoman_hub.nats.connection import NatsConnection
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.journal import NatsJournal
from dragoman_hub.nats.layout import (
    Layout,
    bucket_settings,
    chosen_settings,
    meta_bucket,
    originals_settings,
    register_bucket,
    settings_of,
)
from dragoman_hub.nats.options import NatsOptions, read_address
from dragoman_hub.nats.replies import NoReply, NoResponders, end_tasks
from dragoman_local.journal.shared_state import OnBusMessage, OnValueChange, RegisterValue, Subscription

VERSION = 1
OLDEST = (2, 11)
"""The oldest servers that answer a read with many messages, and support a lifetime for each message."""

REPLICAS = 3
"""The default number of replicas in a cluster."""


class NatsStore(Struct, frozen=True):
    """The open journal, register and bus, and their options."""

    journal: NatsJournal
    register: NatsRegister
    bus: NatsBus
    options: NatsOptions


class _PrefixShape(Struct, frozen=True):
    """The layout of a prefix, by its first user; it holds for all."""

    version: int
    shards: int


@asynccontextmanager
async def open_nats(
    address: str, *, options: NatsOptions | None = None, clock: Callable[[], float] = time.time
) -> AsyncIterator[NatsStore]:
    """Connect, and create everything that is missing. `options` override the address, except for the
    servers.
    """
    address_options = read_address(address)
    final_options = (
        address_options
        if options is None
        else replace(options, servers=options.servers or address_options.servers)
    )
    wire = NatsConnection(final_options, inbox=Layout(final_options.prefix, shards=1).inbox)
    await wire.open()
    try:
        jetstream = JetStream(wire)
        layout = await _lay_out(jetstream, final_options)
        journal = NatsJournal(jetstream, wire, layout, final_options, clock=clock)
        register = NatsRegister(jetstream, wire, register_bucket(final_options.prefix))
        bus = NatsBus(wire, layout)
        journal.start()
        try:
            yield NatsStore(journal, register, bus, final_options)
        finally:
            await bus.aclose()
            await register.aclose()
            await journal.aclose()
    finally:
        await wire.aclose()


async def _lay_out(jetstream: JetStream, options: NatsOptions) -> Layout:
    """Make the streams of JetStream, or find them made."""
    if jetstream.wire.version < OLDEST:
        raise JournalError(f"{options.safe_address}: a journal needs servers of version 2.11 or later")
    replicas = options.replicas or (REPLICAS if jetstream.wire.is_clustered else 1)
    chosen_fields = chosen_settings(options)
    await jetstream.ensure(
        bucket_settings(meta_bucket(options.prefix), replicas), chosen_fields=chosen_fields
    )
    shape = await _shape(jetstream, options)
    layout = Layout(options.prefix, shards=shape.shards)
    settings = settings_of(layout, options, replicas=replicas)
    originals = originals_settings(layout, replicas=replicas)
    _, *configs = await asyncio.gather(
        *(
            jetstream.ensure(stream_settings, chosen_fields=chosen_fields)
            for stream_settings in (originals, *settings)
        )
    )
    layout.keeps_all = not any(config.get("max_age") for config in configs)
    return layout


async def _shape(jetstream: JetStream, options: NatsOptions) -> _PrefixShape:
    bucket = Bucket(jetstream, meta_bucket(options.prefix))
    shape = _PrefixShape(VERSION, options.shards)
    try:
        await bucket.create("-layout", msgspec.json.encode(shape), within=jetstream.patience)
        return shape
    except KeyTaken:
        entry = await bucket.get("-layout")
    if entry is None:
        raise JournalError(f"{options.prefix} is just being taken away")
    stored_shape = decode_json(entry.value, _PrefixShape)
    if stored_shape.version != VERSION:
        raise JournalError(
            f"another version of dragoman made the journal {options.prefix} (format {stored_shape.version}; "
            f"this one knows {VERSION}): use that version, or choose another prefix"
        )
    return stored_shape


# The bus on NATS: plain subjects below the prefix, without storage. Messages without a subscriber are lost.
#
# `send` hands over to one task that writes in order; while there is no connection, and beyond a bound in
# bytes, what is sent is lost. Where an answer goes is a subject of the bus like any other.

QUEUED_BYTES = 16 * 1024 * 1024


class NatsBus:
    """The `Bus` over one connection."""

    def __init__(self, wire: NatsConnection, layout: Layout) -> None:
        self._wire = wire
        self._layout = layout
        self._queue: deque[tuple[str, bytes]] = deque()
        self._queued_bytes = 0
        self.lost_count = 0
        """Words that were too much at once, or had no connection to go by."""
        self._pump: asyncio.Task[None] | None = None
        self._is_closed = False

    def send(self, subject: str, data: bytes) -> None:
        if self._is_closed or self._queued_bytes + len(data) > QUEUED_BYTES or not self._wire.is_connected:
            self.lost_count += 1
            return
        self._queue.append((self._layout.bus(subject), data))
        self._queued_bytes += len(data)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._run(), name="nats bus")

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        try:
            return (await self._wire.ask(self._layout.bus(subject), data, within=within)).data
        except NoResponders:
            raise NobodyListens(subject) from None
        except NoReply:
            raise TimeoutError(f"no answer on {subject}") from None

    async def listen(self, subject: str, on_message: OnBusMessage) -> Subscription:
        root = len(self._layout.bus(""))

        def hear(said_on: str, data: bytes, answer: str) -> None:
            on_message(said_on[root:], data, answer[root:])

        return await self._wire.listen(self._layout.bus(subject), hear)

    async def aclose(self) -> None:
        self._is_closed = True
        if self._pump is not None:
            await asyncio.wait([self._pump], timeout=2)

    async def _run(self) -> None:
        while self._queue:
            subject, data = self._queue.popleft()
            self._queued_bytes -= len(data)
            try:
                await self._wire.publish(subject, data)
            except JournalError:
                self.lost_count += 1


# The register on NATS: a key-value bucket with compare-and-set writes, and watchers.
#
# A write that is not answered is tried for five seconds and looked for at the leader; what cannot be found
# out by then is `JournalError`, and may have happened.

WITHIN_SECONDS = 5.0
"""The seconds for a request, less than a lease should last: a lease holder must know in time that it may be
lost.
"""

WATCH_SECONDS = 20.0
"""The seconds until all keys are read once. A hanging server may be asked several times before another one,
and a node must still be able to start.
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
