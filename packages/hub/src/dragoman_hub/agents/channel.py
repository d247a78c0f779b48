"""The interface to a running agent: numbered frames from the agent, marked frames to it.

`KeptAgent` is one that outlives the hub (see `host`). `DirectChannel` makes one of any transport, for
agents on the network and inside this process: its numbers start afresh with the hub. Under a lease, the agent
of the first is stopped when it runs out; nobody can stop the other's, so its line is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Transport
from dragoman.wire.decode import count_lines
from dragoman_hub.agents.host.lease import TimedLease, moment

LEASE_OVER = "the lease of the hub has run out"


class LeaseTerm(NamedTuple):
    """The time in which an agent may act: this many seconds from a moment on the clock of leases."""

    seconds: float
    since: float


class Hears(Protocol):
    """Receives an agent's messages."""

    def feed(self, first: int, block: bytes) -> None: ...
    def stderr(self, line: bytes) -> None: ...
    def on_oversized(self, number: int, size: int) -> None: ...
    def on_end(self, reason: str, exit_status: int | None) -> None: ...


class AgentChannel(Protocol):
    """The channel to one running agent."""

    burst: AbstractContextManager[None]
    """Entered while all frames that arrived at once are fed."""

    @property
    def pid(self) -> int: ...
    @property
    def taken_numbers(self) -> Mapping[str, int]: ...
    @property
    def pending(self) -> int: ...
    def start(self, sink: Hears, /) -> None: ...
    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None: ...
    async def wait_until_taken(self, stream: str, last: int) -> None: ...
    def forget(self, stream: str) -> None: ...
    def acknowledge(self, number: int) -> None: ...
    def lease(self, seconds: float, *, since: float | None = None) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    async def drain(self) -> None: ...
    async def leave(self) -> None: ...
    async def aclose(self) -> None: ...


class DirectChannel:
    """A channel over a transport that ends with the hub."""

    def __init__(self, transport: Transport, *, pid: int = 0) -> None:
        self.pid = pid
        self.burst: AbstractContextManager[None] = nullcontext()
        self.taken_numbers: Mapping[str, int] = {}
        self._transport = transport
        self._sink: Hears | None = None
        self._number = 0
        self._lease: TimedLease | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def pending(self) -> int:
        return self._transport.pending

    def start(self, sink: Hears, /) -> None:
        self._sink = sink
        self._transport.start(self)

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        if self._lease is not None and not self._lease.lasts():
            raise LinkClosed(LEASE_OVER)
        self._transport.write(block)

    async def wait_until_taken(self, stream: str, last: int) -> None:
        pass  # what is lost on this way is lost with the agent

    def forget(self, stream: str) -> None:
        pass  # nobody counts here

    def acknowledge(self, number: int) -> None:
        pass  # nobody keeps them for us

    def lease(self, seconds: float, *, since: float | None = None) -> None:
        """Close after this many seconds, counted from `since` (a time of `lease.now`) or from now, unless
        there is another lease by then. A closed channel stays closed.
        """
        if self._lease is None:
            self._lease = TimedLease(ran_out=self._ran_out)
        if not self._lease.over:
            self._lease.renew(moment(seconds, since))

    def pause(self) -> None:
        self._transport.pause()

    def resume(self) -> None:
        self._transport.resume()

    async def drain(self) -> None:
        await self._transport.drain()

    async def leave(self) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._lease is not None:
            self._lease.drop()
        if self._closing is not None:
            await asyncio.wait([self._closing])
        await self._transport.aclose()

    def _ran_out(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(self._transport.aclose(), name="lease over")

    # The sink of the transport.

    def feed(self, block: bytes) -> None:
        assert self._sink is not None
        if block[-1:] != b"\n":
            block += b"\n"
        first = self._number + 1
        self._number += count_lines(block)
        with self.burst:
            self._sink.feed(first, block)

    def on_oversized(self, size: int) -> None:
        assert self._sink is not None
        self._number += 1
        self._sink.on_oversized(self._number, size)

    def on_end(self, reason: BaseException | None) -> None:
        assert self._sink is not None
        why = LEASE_OVER if self._lease is not None and self._lease.over else "it closed the connection"
        self._sink.on_end(why if reason is None else str(reason), None)
