"""What a plain client of the same servers does, with nats-py alone: the measure for everything else.

`append_rate`: messages of 242 bytes that one client stores, each acknowledged by the leader when two of three
have synced it, as many under way as pays. `consume_rate`: the same messages read by an ordered consumer, in a
loop as nats-py documents it; and by a callback that does nothing, which is the least that a message can cost.
"""

from __future__ import annotations

import asyncio
import time

import nats
from nats.js import JetStreamContext
from nats.js.api import PubAck, StorageType, StreamConfig

PAYLOAD = b"x" * 242
STREAM = "plain"
UNDER_WAY = (64, 256, 1024)
"""Windows that are tried; the best counts."""


async def plain_rates(url: str, count: int) -> dict[str, float]:
    servers = [f"nats://{host}" for host in url.removeprefix("nats://").split(",")]
    connection = await nats.connect(servers=servers)
    try:
        stream = connection.jetstream(timeout=30, publish_async_max_pending=max(UNDER_WAY))
        config = StreamConfig(name=STREAM, subjects=["plain.*"], num_replicas=3, storage=StorageType.FILE)
        await stream.add_stream(config)
        rates = [await _append_rate(stream, count, window) for window in UNDER_WAY]
        consumed = await _consume_rate(stream, count)
        called = await _callback_rate(stream, count)
        await stream.delete_stream(STREAM)
        return {"append": max(rates), "consume": consumed, "callback": called}
    finally:
        await connection.close()


async def _append_rate(stream: JetStreamContext, count: int, window: int) -> float:
    began = time.perf_counter()
    waiting: list[asyncio.Future[PubAck]] = []
    for _ in range(count):
        waiting.append(await stream.publish_async("plain.one", PAYLOAD))
        if len(waiting) >= window:
            await asyncio.gather(*waiting)
            waiting.clear()
    await asyncio.gather(*waiting)
    return count / (time.perf_counter() - began)


async def _consume_rate(stream: JetStreamContext, count: int) -> float:
    began = time.perf_counter()
    subscription = await stream.subscribe("plain.one", ordered_consumer=True)
    left = count
    async with asyncio.timeout(120):
        async for _ in subscription.messages:
            left -= 1
            if not left:
                break
    rate = count / (time.perf_counter() - began)
    await subscription.unsubscribe()
    return rate


async def _callback_rate(stream: JetStreamContext, count: int) -> float:
    came = asyncio.Event()
    seen = 0

    async def take(message: object) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            came.set()

    began = time.perf_counter()
    subscription = await stream.subscribe("plain.one", ordered_consumer=True, cb=take)
    async with asyncio.timeout(120):
        await came.wait()
    rate = count / (time.perf_counter() - began)
    await subscription.unsubscribe()
    return rate
