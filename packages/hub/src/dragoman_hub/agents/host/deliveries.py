"""Writes from hubs to an agent: whole, in order, each at most once.

A write may belong to a stream and carry the last sequence of that stream that is in it. What a stream has
said already is ignored when it comes again; `taken_numbers` change when the agent's pipe has the last byte
of a write, and not before. A write that has begun is finished, whatever becomes of the hub that sent it;
none begins while the agent may not have it.

It knows a transport and bytes, and nothing of sockets or hubs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Transport


class Delivery(NamedTuple):
    """One write; `block` is empty if it was ignored, `size` is what the hub counts."""

    block: bytes
    size: int
    stream: str
    last: int


class Deliveries:
    """The queue to one agent. Its transport's `limits.low` must be 0: it holds one write at a time."""

    def __init__(
        self, transport: Transport, *, on_delivery: Callable[[str, int], None], may: Callable[[], bool]
    ) -> None:
        """`on_delivery(stream, last)` is called when `done_bytes` has changed; with a stream, `taken_numbers`
        has changed too. `may()` is asked before each write; after a no, the write waits for `go_on`.
        """
        self.received_bytes = 0
        self.done_bytes = 0
        """Bytes of writes that came, and that are dealt with: given to the agent, ignored,
        or lost with it.
        """
        self.taken_numbers: dict[str, int] = {}
        self._accepted_numbers: dict[str, int] = {}  # what is taken, or waits to be
        self._transport = transport
        self._on_delivery = on_delivery
        self._may = may
        self._queue: deque[Delivery] = deque()
        self._blocked_event = asyncio.Event()  # the first of the queue is with the transport, in part

    def accept(self, stream: str, last: int, block: bytes) -> None:
        """Send a write to the agent, now or after the writes before it."""
        size = len(block)
        self.received_bytes += size
        if stream and last <= self._accepted_numbers.get(stream, 0):
            block, stream = b"", ""
        elif stream:
            self._accepted_numbers[stream] = last
        self._queue.append(Delivery(block, size, stream, last))
        self.go_on()

    def forget(self, stream: str, last: int) -> None:
        """Forget a stream: no hub sends its writes again. Ignored unless `last` was sent and no later write
        has arrived. A later stream of this name may begin with any number.
        """
        if self.taken_numbers.get(stream) == self._accepted_numbers.get(stream) == last:
            del self.taken_numbers[stream], self._accepted_numbers[stream]

    def go_on(self) -> None:
        """Send the agent all writes that can be sent."""
        if not self._blocked_event.is_set():
            self._push()

    async def run(self) -> None:
        """Continue whenever the agent reads again, until cancelled."""
        while True:
            await self._blocked_event.wait()
            try:
                await self._transport.drain()
            except LinkClosed:
                self._finish(is_given=False)
            else:
                self._finish(is_given=True)
            self._blocked_event.clear()
            self._push()

    def let_go(self) -> None:
        """Stop waiting: give everything to the transport, which flushes as much as
        possible while it closes.
        """
        waiting = list(self._queue)[self._blocked_event.is_set() :]
        self._queue.clear()
        for delivery in waiting:
            try:
                self._transport.write(delivery.block)
            except LinkClosed:
                return  # nobody is there to read it

    def _push(self) -> None:
        while self._queue and self._may():
            block = self._queue[0].block
            is_given = True
            if block:
                try:
                    self._transport.write(block)
                except LinkClosed:  # the agent no longer reads; that it ends is told in another way
                    is_given = False
                if is_given and self._transport.pending:
                    self._blocked_event.set()
                    return
            self._finish(is_given=is_given)

    def _finish(self, *, is_given: bool) -> None:
        if not self._queue:
            return
        delivery = self._queue.popleft()
        self.done_bytes += delivery.size
        stream = delivery.stream if is_given else ""
        if stream:
            self.taken_numbers[stream] = delivery.last
        self._on_delivery(stream, delivery.last)
