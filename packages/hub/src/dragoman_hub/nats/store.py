"""Opens everything that nodes share on NATS over one connection: the journal, the register and the bus.

async with open_nats("nats://host:4222/team") as place:
    place.journal, place.register, place.bus
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import decode_json
from dragoman.errors import JournalError, KeyTaken
from dragoman_hub.nats.bucket import Bucket
from dragoman_hub.nats.bus import NatsBus
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
from dragoman_hub.nats.register import NatsRegister

VERSION = 1
OLDEST = (2, 11)
"""The first servers that answer a read with many messages, and let one message live shorter than others."""

REPLICAS = 3
"""In a cluster, if nobody says otherwise."""


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
