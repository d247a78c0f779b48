"""The drop test: a conversation whose connections are cut and whose hub is killed, and what must come of it.

One client holds a conversation through `ResumingTransport`, which comes back by itself. Between it and the
hub, a `Cutter` ends the connection after a number of messages; a crash takes the hub away at the same moment.
Whatever was cut, the client has heard the same at the end, byte for byte but for ids that are made anew in
every run, and the agent was told everything once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from dragoman.errors import LinkClosed
from dragoman.sdk.resumption.transport import ResumingTransport
from dragoman.testing.pace import deadline
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.memory import memory_pair
from dragoman.transport.passing_transport import PassingTransport
from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import WITHIN, Stage, Talker, text

IDS = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=call_)[0-9a-f]{32}")


class Cutter(PassingTransport):
    """A transport that ends after `messages` of them have come from the hub; None never ends."""

    def __init__(self, inner: Transport, messages: int | None, on_cut: Callable[[], None]) -> None:
        super().__init__(inner)
        self._left = messages
        self._on_cut = on_cut
        self._sink: Sink | None = None
        self._closing: asyncio.Task[None] | None = None

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self.inner.start(self)

    def feed(self, block: bytes) -> None:
        assert self._sink is not None
        for line in block.splitlines(keepends=True):
            if self._left == 0:
                return
            self._sink.feed(line)
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    self.cut()

    def cut(self) -> None:
        self._left = 0
        self._on_cut()
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self.inner.aclose())

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        assert self._sink is not None
        self._sink.on_end(reason)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._left == 0:
            raise LinkClosed("cut")
        self.inner.write(block)

    async def aclose(self) -> None:
        await self.inner.aclose()
        if self._closing is not None:
            await self._closing


class Person(Talker):
    """A client that allows whatever it is asked, and lends files that hold their own names."""

    def feed(self, block: bytes) -> None:
        super().feed(block)
        for line in block.splitlines():
            message = json.loads(line)
            if message.get("method") == "fs/read_text_file":
                self.say({"id": message["id"], "result": {"content": message["params"]["path"]}})
            elif message.get("method") == "session/request_permission":
                self.allow(message, message["params"]["options"][0]["optionId"])


async def hold_conversation(person: Person, turns: list[str]) -> None:
    """From the first word to the last answer."""
    await person.begin(fs={"readTextFile": True})
    session = await person.new()
    *alone, second_last, last = turns
    for words in alone:
        await finished(person, person.prompt(session, words))
    together = [person.prompt(session, words) for words in (second_last, last)]
    for request in together:
        await finished(person, request)


async def finished(person: Person, request: int) -> None:
    answer = await person.answer(request)
    assert "result" in answer, answer
    assert answer["result"]["stopReason"] == "end_turn"


class Trial:
    """One conversation with cuts. `cuts` gives how many messages each connection lives, `crashes` whether the
    hub goes with it.
    """

    def __init__(
        self, cuts: Iterator[int | None], crashes: Iterator[bool], ticks: Iterator[int] | None = None
    ) -> None:
        """`ticks` gives turns of the event loop between crashes that come by themselves."""
        self.gate = Gate()
        self.connections = 0
        self.crashed = 0
        self._cuts = cuts
        self._crashes = crashes
        self._ticks = ticks or iter(())
        self._stage: Stage | None = None
        self._up = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self, stage: Stage, turns: list[str]) -> list[bytes]:
        """What the client has heard."""
        self._stage = stage
        self._up.set()
        transport = ResumingTransport(self._connect, backoff=lambda failed: 0.0)
        self.person = person = Person(transport)
        killing = asyncio.get_running_loop().create_task(self._kill())
        try:
            async with deadline(WITHIN * 10):
                await hold_conversation(person, turns)
        finally:
            await transport.aclose()
            await killing
            await asyncio.gather(*self._tasks)
        return normalised(person.raw)

    async def _connect(self) -> Transport:
        while not self._up.is_set():  # it may be down again before we are woken
            await self._up.wait()
        assert self._stage is not None
        self.connections += 1
        here, there = memory_pair()
        self._stage.hub.accept(there, Grant("owner"))
        return Cutter(here, next(self._cuts, None), self._cut)

    async def _kill(self) -> None:
        for ticks in self._ticks:
            for _ in range(ticks):
                await asyncio.sleep(0)
            if self._up.is_set():
                self._up.clear()
                await self._crash()

    def _cut(self) -> None:
        if next(self._crashes, False) and self._up.is_set():
            self._up.clear()
            self._tasks.append(asyncio.get_running_loop().create_task(self._crash()))

    async def _crash(self) -> None:
        assert self._stage is not None
        self.crashed += 1
        await self._stage.crash()
        await self._stage.start()
        self._up.set()


def normalised(lines: list[bytes]) -> list[bytes]:
    """Ids that are made anew in every run, by the order in which they come."""
    known: dict[bytes, bytes] = {}

    def name(found: re.Match[bytes]) -> bytes:
        return known.setdefault(found.group(), b"id-%d" % (len(known) + 1))

    return [IDS.sub(name, line) for line in lines]


def agents(gate: Gate) -> dict[str, Any]:
    return {"one": lambda: obedient(gate)}


__all__ = ["Cutter", "Person", "Trial", "agents", "hold_conversation", "normalised", "text"]
