"""A relay that injects faults: planned per frame, done in order, and recorded as they happen.

Each direction has one worker, so that a delayed frame delays those behind it, as in a pipe. A kill ends the
agent without a word; what it had said before is passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dragoman.runtime.relay import Relay, RelayDirection
from dragoman.transport.contract import Transport
from dragoman.wire.decode import read_value
from dragoman.wire.envelope import as_object
from dragoman_check.trace.chaos.disturbance import DisturbedFrame, disturb
from dragoman_check.trace.chaos.faults import ChaosFault, Plan

WAITING = 4 * 1024 * 1024
"""Bytes that may wait for their turn before reading stops."""

BEHIND = "its frames wait for their turn"


class Chaos:
    """`async with Chaos(client, agent, plan) as chaos: await chaos.wait_ended()`; `struck` is the script."""

    def __init__(
        self, client: Transport, agent: Transport, plan: Plan, *, kill: Callable[[], None] | None = None
    ) -> None:
        self.struck: list[ChaosFault] = []
        self._plan = plan
        self._kill = kill
        self._relay = Relay(client, agent, interpreter=self, name="chaos")
        self._lanes = {
            way.direction: _FrameQueue(way) for way in (self._relay.to_agent, self._relay.to_client)
        }

    async def __aenter__(self) -> Chaos:
        for lane in self._lanes.values():
            lane.task = asyncio.get_running_loop().create_task(self._work(lane))
        self._relay.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._relay.aclose()
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def wait_ended(self) -> None:
        await self._relay.wait_ended()

    # The interpreter of the relay.

    def take(self, way: RelayDirection, block: bytes) -> None:
        lane = self._lanes[way.direction]
        for line in block.splitlines(keepends=True):
            if line.strip():
                lane.put(line)

    async def finish(self, way: RelayDirection, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._lanes[way.direction].queue.join()
        except TimeoutError:
            pass  # what is still delayed is lost with its conversation

    # Inside.

    async def _work(self, lane: _FrameQueue) -> None:
        while True:
            frame = await lane.queue.get()
            try:
                await self._pass(lane, frame)
            finally:
                lane.release(frame)

    async def _pass(self, lane: _FrameQueue, frame: bytes) -> None:
        lane.count += 1
        direction = lane.way.direction
        disturbance = disturb(frame, self._plan.at(direction, lane.count))
        self.struck += disturbance.struck
        await self._send(lane, disturbance, frame)
        if disturbance.kill and self._kill is not None:
            self._kill()

    async def _send(self, lane: _FrameQueue, disturbance: DisturbedFrame, frame: bytes) -> None:
        if disturbance.stall:
            await asyncio.sleep(disturbance.stall)
        for piece in disturbance.pieces:
            if piece.wait:
                await asyncio.sleep(piece.wait)
            lane.way.send(piece.block)
        lane.later += disturbance.later
        if lane.later and "method" not in as_object(read_value(frame)):
            for late in lane.later:
                lane.way.send(late)
            lane.later = []


class _FrameQueue:
    def __init__(self, way: RelayDirection) -> None:
        self.way = way
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self.count = 0
        self.later: list[bytes] = []
        self._size = 0

    def put(self, frame: bytes) -> None:
        self.queue.put_nowait(frame)
        self._size += len(frame)
        if self._size > WAITING:
            self.way.hold(BEHIND)

    def release(self, frame: bytes) -> None:
        self._size -= len(frame)
        if self._size <= WAITING:
            self.way.listen(BEHIND)
        self.queue.task_done()
