"""A relay that injects faults: planned per frame, done in order, and recorded as they happen.

Each direction has one worker, so that a delayed frame delays those behind it, as in a pipe. A kill ends the
agent without a word; what it had said before is passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

from dragoman.runtime.relay import Relay, RelayDirection
from dragoman.transport.contract import Transport
from dragoman.wire.decode import read_value
from dragoman.wire.envelope import JsonObject, as_object
from dragoman_check.trace.chaos.faults import ChaosFault, Plan

WAITING = 4 * 1024 * 1024
"""The most bytes that may wait for their turn before reading stops."""

BEHIND = "its frames wait for their turn"


class Chaos:
    """Use `async with Chaos(client, agent, plan) as chaos: await chaos.wait_ended()`;
    `struck` is the script.
    """

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


# How a fault changes a frame: the pieces to send, and the waits between them. Pure.
#
# Order is never changed and no byte of a message is: what a pipe cannot do, chaos does not do. Answers can
# be dropped or replaced by an error, notifications doubled or followed by ones that nobody knows; requests
# are left alone, because a request that is doubled would be a lie of ours.

UNKNOWN = b'{"jsonrpc":"2.0","method":"_chaos/nobody_knows_this","params":{"n":1}}\n'


class Piece(Struct, frozen=True):
    """Bytes to send after a wait."""

    block: bytes
    wait: float = 0.0


class DisturbedFrame(Struct):
    """The disturbed form of a frame."""

    pieces: list[Piece]
    struck: list[ChaosFault]
    """The faults that really happened: a fault for an answer has no effect on a notification."""
    kill: bool = False
    stall: float = 0.0
    later: list[bytes] = []
    """Bytes to send after the next answer."""


def disturb(frame: bytes, faults: list[ChaosFault]) -> DisturbedFrame:
    """Apply these faults to one frame, with its newline."""
    message = as_object(read_value(frame))
    disturbance = DisturbedFrame([Piece(frame)], [])
    for fault in faults:
        if _strike(fault, message, frame, disturbance):
            disturbance.struck.append(fault)
    return disturbance


def _strike(fault: ChaosFault, message: JsonObject, frame: bytes, disturbance: DisturbedFrame) -> bool:
    is_answer = "method" not in message and "id" in message
    is_note = "method" in message and "id" not in message
    match fault.kind:
        case "delay":
            disturbance.pieces = [
                Piece(piece.block, piece.wait + fault.amount) for piece in disturbance.pieces[:1]
            ] + disturbance.pieces[1:]
        case "split" if len(frame) > 1 and disturbance.pieces:
            cut = max(1, min(len(frame) - 1, int(len(frame) * fault.amount)))
            first = disturbance.pieces[0]
            if first.block != frame:
                return False
            disturbance.pieces[0:1] = [Piece(frame[:cut], first.wait), Piece(frame[cut:], 0.02)]
        case "stall":
            disturbance.stall = max(disturbance.stall, fault.amount)
        case "kill":
            disturbance.kill = True
        case "duplicate" if is_note:
            disturbance.pieces.append(Piece(frame))
        case "drop answer" if is_answer:
            disturbance.pieces = []
        case "fail answer" if is_answer and disturbance.pieces:
            error = {"code": -32603, "message": "Internal error"}
            error_answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
            disturbance.pieces = [
                Piece(msgspec.json.encode(error_answer) + b"\n", disturbance.pieces[0].wait)
            ]
        case "unknown" if is_note or is_answer:
            disturbance.pieces.append(Piece(UNKNOWN))
        case "flood" if is_note:
            disturbance.pieces.append(Piece(frame * int(fault.amount)))
        case "late" if is_note:
            disturbance.pieces, disturbance.later = [], [frame]
        case _:
            return False
    return True
