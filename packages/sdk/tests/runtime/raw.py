"""The other end of a link, written by hand: it sends the frames that a test wants and keeps all it hears.

It knows JSON and nothing of the protocol, so it can break every rule.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Raw

from dragoman.core import IncomingRequest, Lifecycle
from dragoman.runtime import Answer, Limits, Link
from dragoman.transport.contract import DEFAULT_LIMITS
from dragoman.transport.contract import TransportLimits as TransportLimits
from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman.transport.waiters import Waiters
from dragoman.wire.codes import method_not_found

Frame = dict[str, Any]


async def until(condition: Callable[[], object], *, turns: int = 100_000) -> None:
    """Let the loop turn until something has happened."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"not within {turns} turns of the loop")


class RawEnd:
    """One end of a memory pair. `seen` is everything that has arrived."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.seen: list[Frame] = []
        self.oversize: list[int] = []
        self.hung_up = False
        self._read = 0
        self._changed = Waiters()
        transport.start(self)

    # The sink.

    def feed(self, block: bytes) -> None:
        self.seen += [json.loads(line) for line in block.splitlines() if line.strip()]
        self._changed.wake()

    def on_oversized(self, size: int) -> None:
        self.oversize.append(size)

    def on_end(self, reason: BaseException | None) -> None:
        self.hung_up = True
        self._changed.wake()

    # What a test does with it.

    def send(self, *frames: Frame | bytes) -> None:
        """All of them in one block, as if one read had brought them."""
        # Compact, as most peers write: runs of such frames take the short ways.
        lines = [f if isinstance(f, bytes) else json.dumps(f, separators=(",", ":")).encode() for f in frames]
        self.transport.write(b"".join(line + b"\n" for line in lines))

    async def next(self) -> Frame:
        """The next frame, in order of arrival."""
        while self._read >= len(self.seen):
            assert not self.hung_up, f"the link hung up; it said {self.seen}"
            await self._changed.wait()
        self._read += 1
        return self.seen[self._read - 1]

    async def next_of(self, wanted: Callable[[Frame], bool]) -> Frame:
        """The next frame that is wanted; those before it are passed over."""
        while not wanted(frame := await self.next()):
            pass
        return frame

    async def answer_to(self, request_id: Any) -> Frame:
        return await self.next_of(lambda frame: "method" not in frame and frame.get("id") == request_id)

    async def asks(self, method: str) -> Frame:
        return await self.next_of(lambda frame: frame.get("method") == method)

    async def ends(self) -> None:
        while not self.hung_up:
            await self._changed.wait()

    def answers(self) -> list[Frame]:
        return [frame for frame in self.seen if "method" not in frame]

    async def aclose(self) -> None:
        await self.transport.aclose()


def request(request_id: Any, method: str, params: Any = None) -> Frame:
    frame = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return frame if params is None else {**frame, "params": params}


def notification(method: str, params: Any = None) -> Frame:
    frame = {"jsonrpc": "2.0", "method": method}
    return frame if params is None else {**frame, "params": params}


def result(request_id: Any, value: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def cancel_request(request_id: Any) -> Frame:
    return notification("$/cancel_request", {"requestId": request_id})


class Routes:
    """A router made of functions: `requests[method](params)` and `notifications[method](params)`."""

    def __init__(self) -> None:
        self.requests: dict[str, Callable[[Any], Answer]] = {}
        self.notifications: dict[str, Callable[[Any], None]] = {}
        self.told_methods: list[str] = []
        self.blocks = 0

    def on_request(self, incoming: IncomingRequest) -> Answer:
        if incoming.method not in self.requests:
            raise method_not_found(incoming.method)
        return self.requests[incoming.method](_value(incoming.params))

    def on_notification(self, method: str, params: Raw | None) -> None:
        self.told_methods.append(method)
        if method in self.notifications:
            self.notifications[method](_value(params))

    def on_block(self, block: bytes) -> int:
        return 0

    def on_block_end(self, size: int) -> None:
        self.blocks += 1

    def on_cancel_request(self, incoming: IncomingRequest) -> bool:
        return False


def _value(params: Raw | None) -> Any:
    return None if params is None else json.loads(bytes(params))


@asynccontextmanager
async def linked(
    router: Routes | None = None,
    *,
    limits: Limits | None = None,
    lifecycle: Lifecycle | None = None,
    transport: TransportLimits = DEFAULT_LIMITS,
) -> AsyncIterator[tuple[Link, RawEnd]]:
    """A running link and the raw end that it talks to; both are closed when the block is left."""
    ours, theirs = memory_pair(limits=transport)
    link = Link(ours, router or Routes(), limits=limits, lifecycle=lifecycle)
    peer = RawEnd(theirs)
    link.start()
    try:
        yield link, peer
    finally:
        await link.aclose()
        await peer.aclose()
