"""Helpers for ASGI requests without a framework: whole answers, bodies within a limit, event streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.transport.http_outlet import SseOutlet
from dragoman.wire.sse import KEEPALIVE

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

IDLE = 15.0
"""The seconds after which a silent stream sends a keepalive."""

BODY_WITHIN = 30.0
"""The seconds for receiving a body; large bodies get more, see `BODY_RATE`."""

TAKE_OVER = 0.25
"""The seconds to detect that a reader has left, before the next one gets an error."""

BODY_RATE = 4096
"""The bytes that allow another second: slower than any line in use."""


async def respond(
    send: Send,
    status: int,
    body: bytes,
    *,
    kind: bytes = b"text/plain; charset=utf-8",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    """Send a whole answer."""
    all_headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


async def read_body(headers: dict[bytes, bytes], receive: Receive, limit: int) -> bytes | int:
    """Return the whole body, or the status to refuse it with. A body that is announced as too large is not
    read.
    """
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 18 or int(length) > limit:
        return 413
    parts = bytearray()
    start = asyncio.get_running_loop().time()
    while True:
        try:
            async with asyncio.timeout_at(start + BODY_WITHIN + len(parts) / BODY_RATE):
                event = await receive()
        except TimeoutError:
            return 408
        if event["type"] == "http.disconnect":
            return 400
        parts += event.get("body", b"")
        if len(parts) > limit:
            return 413
        if not event.get("more_body"):
            return bytes(parts)


async def is_free(outlet: SseOutlet, last: str) -> bool:
    """Whether the stream has no other reader; a reader that comes back takes it over."""
    if outlet.is_read and last:
        outlet.evict()
    try:
        async with asyncio.timeout(TAKE_OVER):
            await outlet.wait_left()
    except TimeoutError:
        pass
    return not outlet.is_read


async def stream(outlet: SseOutlet, last: str, receive: Receive, send: Send) -> None:
    """Send events to one reader, until it leaves or the connection ends."""
    with outlet.reading(last):
        headers = [
            (b"content-type", b"text/event-stream"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),  # a proxy that collects answers would hold events back
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        disconnect = asyncio.create_task(wait_for_disconnect(receive))
        try:
            while (events := await outlet.take(disconnect, IDLE)) is not None:
                await send({"type": "http.response.body", "body": events or KEEPALIVE, "more_body": True})
                if not disconnect.done():  # else it was thrown away, and waits for the next reader
                    outlet.on_delivery()
        except OSError:
            pass  # the reader has left
        finally:
            disconnect.cancel()
            await asyncio.wait((disconnect,))
    await send({"type": "http.response.body", "body": b""})


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client of the request has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
