"""Hosts that keep agents when their hub dies, and the hold that a hub has on one.

A host numbers what the agent says and keeps it until the hub has acknowledged it, gives the agent each
numbered write of a stream once, stops the agent when its lease runs out, and ends it when no hub comes for
too long.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dragoman.errors import LinkClosed
from dragoman_hub.agents.channel import Hears
from tests.hub.simulate.agents import AgentBook, ScriptedAgent
from tests.hub.simulate.virtual_loop import Lane, Process

LINGER = 20.0
"""Seconds for which an agent lives on without a hub, or stands still without a lease."""


class AgentHost:
    """A process that keeps one agent. `line` is the hold of the hub that has it now."""

    def __init__(
        self,
        name: str,
        process: Process,
        world: Process,
        book: AgentBook,
        *,
        can: Mapping[str, bool],
        chance: random.Random,
        kind: type[ScriptedAgent] = ScriptedAgent,
    ) -> None:
        book.pids += 1
        self.pid = book.pids
        self.process = process
        self._world = world
        self.is_running = True
        self.taken_numbers: dict[str, int] = {}
        self.line: HostLine | None = None
        self.book = book
        self._chance = chance
        self._story = book.story
        self._name = name
        self._frames: dict[int, bytes] = {}
        self._number = 0
        self._reason = ""
        self._until: float | None = None
        self._is_halted = False
        self._waiting: list[tuple[bytes, str, int]] = []
        self._timer: asyncio.TimerHandle | None = None
        self.agent = kind(process, book, can=can, chance=chance, write=self._said, die=self.end)

    # Hubs.

    def attach(self, line: HostLine) -> None:
        before, self.line = self.line, line
        if before is not None:
            before.replace()
        self._forget_timer()

    def detach(self, line: HostLine) -> None:
        """The hub is gone; the agent lives on for a while."""
        if self.line is line:
            self.line = None
            self._forget_timer()
            self._timer = self.process.call_later(LINGER, self.end, "no hub came back")

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def frames_from(self, number: int) -> list[tuple[int, bytes]]:
        return [(at, frame) for at, frame in self._frames.items() if at >= number]

    @property
    def reason(self) -> str:
        return self._reason

    def write(self, block: bytes, stream: str, last: int) -> None:
        if not self.is_running:
            return
        if stream and last <= self.taken_numbers.get(stream, 0):
            return
        if self._is_halted:
            self._waiting.append((block, stream, last))
            return
        if stream:
            self.taken_numbers[stream] = last
        for frame in block.splitlines():
            self.agent.hear(frame)

    def forget(self, stream: str, last: int) -> None:
        if self.taken_numbers.get(stream) == last and not any(name == stream for _, name, _ in self._waiting):
            del self.taken_numbers[stream]

    def acknowledge(self, number: int) -> None:
        for at in [at for at in self._frames if at <= number]:
            del self._frames[at]

    def lease(self, until: float) -> None:
        self._until = until
        loop = asyncio.get_running_loop()
        self._world.call_later(max(0.0, until - loop.time()) + 0.001, self.look)
        if until > loop.time() and self._is_halted:
            self._is_halted = False
            self._forget_timer()
            self.process.resume()
            waiting, self._waiting = self._waiting, []
            for block, stream, last in waiting:
                self.write(block, stream, last)

    def look(self) -> None:
        """Whether the lease has run out."""
        over = self._until is not None and asyncio.get_running_loop().time() >= self._until
        if over and self.is_running and not self._is_halted:
            self._story.tell(self._name, "is halted: its lease has run out")
            self._is_halted = True
            self.process.is_paused = True

    # The agent.

    def _said(self, frame: bytes) -> None:
        if not self.is_running:
            return
        self._number += 1
        self._frames[self._number] = frame
        if self.line is not None:
            self.line.carry(self._number, frame)

    def end(self, reason: str) -> None:
        if self.is_running:
            self.is_running = False
            self._reason = reason
            self._story.tell(self._name, f"ends: {reason}")
            self.process.kill()
            if self.line is not None:
                self.line.carry_end(reason)


class HostLine:
    """A hub's hold on an agent: a `Line` whose two ways take time and keep their order."""

    def __init__(self, host: AgentHost, hub: Process, world: Process, *, chance: random.Random) -> None:
        self.pid = host.pid
        self.pending = 0
        self.burst: AbstractContextManager[None] = nullcontext()
        self.is_replaced = False
        self._host = host
        self._hub = hub
        self._world = world
        self._chance = chance
        self._taken_numbers = dict(host.taken_numbers)
        self._sink: Hears | None = None
        self._is_open = True
        self._is_lost = False
        self._paused = self._closing = self._discarding = False
        self._to_host, self._to_hub = Lane(world), Lane(world)
        self._arrived: list[tuple[int, bytes]] = []
        self._ended: str | None = None
        self._is_ended = False
        self._closed = asyncio.Event()
        self._moved = asyncio.Event()
        host.attach(self)

    @property
    def taken_numbers(self) -> Mapping[str, int]:
        return self._taken_numbers

    def start(self, sink: Hears, /) -> None:
        self._sink = sink
        for number, frame in self._host.frames_from(1):
            self.carry(number, frame)
        if not self._host.is_running:
            self.carry_end(self._host.reason)

    def _there(self, act: Callable[..., None], *args: Any) -> None:
        self._to_host.send(self._chance.uniform(0.0001, 0.003), self._arrive, act, *args)

    def _arrive(self, act: Callable[..., None], *args: Any) -> None:
        if self._is_lost:
            return
        if self._host.line is self or self._host.line is None:
            act(*args)

    def _here(self, act: Callable[..., None], *args: Any) -> None:
        self._to_hub.send(self._chance.uniform(0.0001, 0.003), self._hub.call_soon, act, *args)

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        if self._is_ended or not self._is_open:
            raise LinkClosed("the agent is no longer there")
        self._there(self._give, bytes(block), stream, last)

    def _give(self, block: bytes, stream: str, last: int) -> None:
        self._host.write(block, stream, last)
        if stream:
            self._here(self._confirm, stream, self._host.taken_numbers.get(stream, 0))

    def _confirm(self, stream: str, last: int) -> None:
        self._taken_numbers[stream] = max(self._taken_numbers.get(stream, 0), last)
        self._moved.set()

    async def wait_until_taken(self, stream: str, last: int) -> None:
        while self._taken_numbers.get(stream, 0) < last:
            if self._is_ended or not self._is_open:
                raise LinkClosed("the agent is no longer there")
            self._moved.clear()
            await self._moved.wait()

    def forget(self, stream: str) -> None:
        last = self._taken_numbers.pop(stream, 0)
        if last:
            self._there(self._host.forget, stream, last)

    def acknowledge(self, number: int) -> None:
        self._there(self._host.acknowledge, number)

    def lease(self, seconds: float, *, since: float | None = None) -> None:
        now = asyncio.get_running_loop().time()
        begin = now if since is None else since - 1000.0  # the clock of leases began earlier
        self._there(self._host.lease, begin + seconds)

    def pause(self) -> None:
        if self._closing:
            self._discarding = True
        else:
            self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._hub.call_soon(self._flow)

    async def drain(self) -> None:
        pass

    async def leave(self) -> None:
        await asyncio.sleep(self._to_host.busy_for + 1e-6)
        self._is_open = False
        self._host.detach(self)

    async def aclose(self) -> None:
        if self._is_open and not self._is_ended:
            self._closing = True
            self._discarding = self._paused
            self._paused = False
            self._hub.call_soon(self._flow)
            self._there(self._host.end, "it was told to end")
            await self._closed.wait()

    def cut(self) -> None:
        """The hub has died. What it has written last arrives all the same, or does not."""
        self._is_open = False
        self._is_lost = self._chance.random() < 0.5
        self._world.call_later(self._chance.uniform(0.0, 0.01), self._host.detach, self)

    def replace(self) -> None:
        self.is_replaced = True
        self.carry_end("another hub has the agent")

    # What the agent says.

    def carry(self, number: int, frame: bytes) -> None:
        if self._sink is not None:
            self._here(self._take, number, frame)

    def carry_end(self, reason: str) -> None:
        self._here(self._take_end, reason)

    def _take(self, number: int, frame: bytes) -> None:
        self._arrived.append((number, frame))
        self._flow()

    def _take_end(self, reason: str) -> None:
        self._ended = reason
        self._flow()

    def _flow(self) -> None:
        """Frames that have come together are fed together."""
        if self._sink is None or self._is_ended or not self._is_open:
            if self._ended is not None:
                self._closed.set()
            return
        with self.burst:
            while self._arrived and not self._paused:
                first = self._arrived[0][0]
                frames, self._arrived = self._arrived, []
                if not self._discarding:
                    self._sink.feed(first, b"".join(frame + b"\n" for _, frame in frames))
        if self._ended is not None and not self._arrived:
            self._is_ended = True
            self._closed.set()
            self._moved.set()
            self._sink.on_end(self._ended, 1)
