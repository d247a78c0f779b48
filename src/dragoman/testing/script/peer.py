"""One end of a scripted conversation: frames in, frames out, and nothing done that the script did not ask
for.

It stands on the wire alone, not on the runtime and the SDK: a double that shared its pen with the pupil
would not show the pupil's mistakes. Each request or notification for which the script has a rule is played
in a task of its own; what no rule is for goes to the `strangers` of the role. Answers to `call` go to the
caller. Everything that passes is in `transcript`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

import msgspec

from dragoman.errors import CallFailed, LinkClosed
from dragoman.testing.script.body import Body
from dragoman.testing.transcript import Party, Passed, Transcript, other
from dragoman.transport.contract import Transport
from dragoman.wire import (
    Envelope,
    ErrorObject,
    Failure,
    Malformed,
    Notification,
    Request,
    Response,
    decode,
)

log = logging.getLogger(__name__)


class Role(Protocol):
    """What is special about being an agent or a client."""

    party: Party

    def received(self, line: bytes, envelope: Envelope, params: Any) -> None:
        """A frame arrived that answers no call; `params` is plain data."""

    def ended(self) -> None:
        """No more frames will come."""


class Peer:
    """The sink of a transport, and the one who writes to it."""

    def __init__(self, transport: Transport, *, role: Role, body: Body) -> None:
        self.transport = transport
        self.body = body
        self.transcript: Transcript = []
        self.over = asyncio.Event()
        self.closing = False
        self.failure: Exception | None = None
        """The first mistake of the script itself, such as a name that it never gave."""
        self.tools = itertools.count(1)
        """Numbers for tool calls that the script gave no id."""
        self._role = role
        self._calls: dict[Any, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._moving = asyncio.Event()  # cleared while it stalls
        self._moving.set()

    def start(self) -> None:
        self.transport.start(self)

    # What is said.

    async def send(self, frame: bytes | dict[str, Any]) -> None:
        """One frame; a dict becomes JSON. Waits while the other side does not read."""
        line = frame if isinstance(frame, bytes) else msgspec.json.encode(frame)
        await self.send_bytes(line + b"\n")

    async def send_bytes(self, block: bytes) -> None:
        """Exactly these bytes, whatever they are."""
        await self.moving()
        self.transcript.append(Passed(other(self._role.party), block.removesuffix(b"\n")))
        self.transport.write(block)
        if self.transport.pending > self.transport.limits.high:
            await self.transport.drain()

    def next_id(self) -> int:
        return next(self._ids)

    async def call(self, method: str, params: Any) -> Any:
        """Ask and wait for the result; raises `CallFailed` for an error."""
        call_id = self.next_id()
        answer = self._calls[call_id] = asyncio.get_running_loop().create_future()
        try:
            await self.send({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
            result = await answer
        finally:
            self._calls.pop(call_id, None)
        if isinstance(result, LinkClosed):
            raise result
        if isinstance(result, ErrorObject):
            raise CallFailed(result.code, result.message, result.data or None, method=method)
        return result

    # What is heard.

    def feed(self, block: bytes) -> None:
        for line in block.split(b"\n"):
            if line and not line.isspace():
                self._hear(line)

    def oversized(self, size: int) -> None:
        log.warning("a frame of %d bytes was skipped", size)

    def ended(self, reason: BaseException | None) -> None:
        for answer in self._calls.values():
            if not answer.done():
                answer.set_result(LinkClosed("the other side has left"))
        self.over.set()
        self._role.ended()

    def _hear(self, line: bytes) -> None:
        self.transcript.append(Passed(self._role.party, line))
        envelope = decode(line)
        match envelope:
            case Response(call_id, result) if call_id in self._calls:
                self._settle(call_id, msgspec.json.decode(result))
            case Failure(call_id, error) if call_id in self._calls:
                self._settle(call_id, error)
            case Request(params=raw) | Notification(params=raw):
                try:
                    params = None if raw is None else msgspec.json.decode(raw)
                except (msgspec.MsgspecError, RecursionError):
                    self._role.received(line, Malformed(line, -32600, "the params cannot be read"), None)
                else:
                    self._role.received(line, envelope, params)
            case _:
                self._role.received(line, envelope, None)

    def _settle(self, call_id: Any, answer: Any) -> None:
        waiting = self._calls[call_id]
        if not waiting.done():
            waiting.set_result(answer)

    # How it moves, and how it ends.

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside everything else; it ends with the peer."""
        task = asyncio.get_running_loop().create_task(work, name="a scene of a script")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def moving(self) -> None:
        """Wait while the peer stalls."""
        await self._moving.wait()

    async def stall(self, seconds: float | None) -> None:
        """Neither read nor say anything, for a while or for ever."""
        self.transport.pause()
        self._moving.clear()
        await asyncio.sleep(seconds) if seconds is not None else await asyncio.Event().wait()
        self._moving.set()
        self.transport.resume()

    async def flush(self) -> None:
        """Until everything that was said is out of our hands, or nobody takes it."""
        try:
            async with asyncio.timeout(self.transport.limits.flush):
                while self.transport.pending:
                    await self.transport.drain()
                    await asyncio.sleep(0.001)  # `drain` is content with little; this wants all of it
        except (TimeoutError, LinkClosed):
            pass  # what the other side does not read, it does not get

    async def aclose(self, *, grace: float = 0.0) -> None:
        if self._tasks and grace:
            await asyncio.wait(self._tasks, timeout=grace)
        self.closing = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.transport.aclose()
