"""The way to a running agent, as the hub needs it: numbered frames one way, marked frames the other.

`KeptAgent` is one that outlives the hub (see `keeping`). `DirectLine` makes one of any transport, for agents
on the network and inside this process: its numbers start afresh with the hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dragoman.transport.contract import Transport
from dragoman.wire.decode import count_lines


class Hears(Protocol):
    """Takes what an agent says."""

    def feed(self, first: int, block: bytes) -> None: ...
    def stderr(self, line: bytes) -> None: ...
    def oversized(self, number: int, size: int) -> None: ...
    def ended(self, reason: str, exit_status: int | None) -> None: ...


class Line(Protocol):
    """One agent that runs."""

    @property
    def pid(self) -> int: ...
    @property
    def taken(self) -> Mapping[str, int]: ...
    @property
    def pending(self) -> int: ...
    def start(self, sink: Hears, /) -> None: ...
    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None: ...
    def acknowledge(self, number: int) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    async def drain(self) -> None: ...
    async def leave(self) -> None: ...
    async def aclose(self) -> None: ...


class DirectLine:
    """A line over a transport that ends with us."""

    def __init__(self, transport: Transport, *, pid: int = 0) -> None:
        self.pid = pid
        self.taken: Mapping[str, int] = {}
        self._transport = transport
        self._sink: Hears | None = None
        self._number = 0

    @property
    def pending(self) -> int:
        return self._transport.pending

    def start(self, sink: Hears, /) -> None:
        self._sink = sink
        self._transport.start(self)

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        self._transport.write(block)

    def acknowledge(self, number: int) -> None:
        pass  # nobody keeps them for us

    def pause(self) -> None:
        self._transport.pause()

    def resume(self) -> None:
        self._transport.resume()

    async def drain(self) -> None:
        await self._transport.drain()

    async def leave(self) -> None:
        await self._transport.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()

    # The sink of the transport.

    def feed(self, block: bytes) -> None:
        assert self._sink is not None
        if block[-1:] != b"\n":
            block += b"\n"
        first = self._number + 1
        self._number += count_lines(block)
        self._sink.feed(first, block)

    def oversized(self, size: int) -> None:
        assert self._sink is not None
        self._number += 1
        self._sink.oversized(self._number, size)

    def ended(self, reason: BaseException | None) -> None:
        assert self._sink is not None
        self._sink.ended("it hung up" if reason is None else str(reason), None)
