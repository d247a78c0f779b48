"""The bus on NATS: plain subjects below the prefix, without storage. Messages without a subscriber are lost.

`send` hands over to one task that writes in order; while there is no connection, and beyond a bound in bytes,
what is sent is lost. Where an answer goes is a subject of the bus like any other.
"""

from __future__ import annotations

import asyncio
from collections import deque

from dragoman.errors import JournalError, NobodyListens
from dragoman_hub.nats.connection import NatsConnection
from dragoman_hub.nats.layout import Layout
from dragoman_hub.nats.replies import NoReply, NoResponders
from dragoman_local.journal.shared_state import OnBusMessage, Subscription

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
