"""The model hub behind real transports: its agent steps by itself, and connections are cut by tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair
from dragoman.wire.glance import lines_of
from tests.sdk.resumption.model import Hub, Line, Message, frame


class Server:
    """`open` for whoever runs in the same loop, `accept` for an endpoint. `deaf`: nothing is answered."""

    def __init__(self, hub: Hub | None = None) -> None:
        self.hub = hub or Hub()
        self.heard: list[Message] = []
        self.served: list[Served] = []
        self.refusals: list[Exception] = []  # what the next attempts get
        self.attempts = 0
        self.deaf = False
        self.gate = asyncio.Event()  # closed, nobody gets in
        self.gate.set()
        self._changed = asyncio.Event()
        self._closing: list[asyncio.Task[None]] = []

    async def open(self) -> Transport:
        self.attempts += 1
        self.changed()
        await self.gate.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        ours, theirs = memory_pair()
        self.accept(ours)
        return theirs

    def accept(self, transport: Transport, visit: object = None) -> None:
        self.served.append(Served(self, transport))
        self.changed()

    def changed(self) -> None:
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def cut(self) -> None:
        """End all connections."""
        served, self.served = self.served, []
        for one in served:
            await one.transport.aclose()
        closing, self._closing = self._closing, []
        for task in closing:
            await task

    def let_go(self, served: Served) -> None:
        self._closing.append(asyncio.get_running_loop().create_task(served.transport.aclose()))
        if served in self.served:
            self.served.remove(served)
        self.changed()

    def step(self) -> None:
        """Let the agents do what they can, and tell the clients."""
        while ready := [one for one in self.hub.sessions.values() if self.hub.can_step(one)]:
            self.hub.step(ready[0])
        for served in self.served:
            served.flush()


class Served:
    """One connection, the sink of its transport."""

    def __init__(self, server: Server, transport: Transport) -> None:
        self.line = Line(server.hub)
        self.transport = transport
        self._server = server
        transport.start(self)

    def feed(self, block: bytes) -> None:
        for one in lines_of(block):
            message = json.loads(one)
            self._server.heard.append(message)
            if not self._server.deaf:
                self.line.say(message)
        self._server.step()
        self._server.changed()

    def flush(self) -> None:
        said, self.line.out = self.line.out, []
        try:
            self.transport.write(b"".join(map(frame, said)))
        except LinkClosed:
            pass  # it was cut

    def on_oversized(self, size: int) -> None: ...

    def on_end(self, reason: BaseException | None) -> None:
        self.line.cut()
        self._server.let_go(self)
