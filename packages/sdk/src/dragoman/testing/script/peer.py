"""One end of a scripted conversation: receives and sends frames, and does only what is in the script.

It stands on the wire alone, not on the runtime and the SDK: a double that shared its pen with the pupil
would not show the pupil's mistakes. What answers one of its calls goes to the caller, everything else to its
role. Everything that passes is in `transcript`, unless nobody wants it.

Senders wait while the other side does not read, and while it does not take our answers we do not read either.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Protocol

import msgspec

from dragoman.errors import CallFailed, LinkClosed
from dragoman.schema.surrogates import mend_surrogates
from dragoman.testing.script.body import Body
from dragoman.testing.transcript import Party, Transcript, TranscriptFrame, other_party
from dragoman.transport.contract import Transport
from dragoman.wire import Envelope, ErrorObject, Failure, Response, decode
from dragoman.wire.encode import notification
from dragoman.wire.envelope import Json, JsonObject

UNREAD = "our answers are not taken"
STALLED = "the script says to stall"

ALLOWED_WHILE_CALLING = 64 * 1024 * 1024
"""The most bytes of answers that may wait while a call is open: two ends that send each other many requests,
and both stop reading, would wait for ever.
"""


class Role(Protocol):
    """The difference between an agent and a client."""

    party: Party

    def on_frame(self, line: bytes, envelope: Envelope) -> None:
        """Handle a frame that is not an answer to a call."""

    def on_oversized_frame(self, size: int) -> None:
        """Handle a frame that was too large to read."""

    def on_end(self) -> None:
        """Handle the end: no more frames will come."""


class Peer:
    """Reads from a transport and writes to it."""

    def __init__(self, transport: Transport, *, role: Role, body: Body, keep: bool = True) -> None:
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
        self._keep = keep
        self._calls: dict[Json, asyncio.Future[Json]] = {}
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._method_events: dict[str, asyncio.Event] = {}  # by method, what a line waits for
        self._answer_bytes = 0  # bytes of answers since all of them were taken
        self._holds: set[str] = set()  # why nothing is read
        self._moving = asyncio.Event()  # cleared while it stalls
        self._moving.set()

    def start(self) -> None:
        self.transport.start(self)

    # What is said.

    async def send(self, frame: bytes | JsonObject) -> None:
        """Send one frame; a dict becomes JSON. Waits while the other side does not read."""
        line = frame if isinstance(frame, bytes) else msgspec.json.encode(frame)
        await self.send_bytes(line + b"\n")

    async def send_bytes(self, block: bytes) -> None:
        """Send exactly these bytes."""
        await self.moving()
        self._write(block)
        await self.room()

    async def room(self) -> None:
        """Wait while the other side does not read; in any case, let it send."""
        if self.transport.pending > self.transport.limits.high:
            await self.transport.drain()
        else:
            await asyncio.sleep(0)

    def tell(self, frame: bytes) -> None:
        """Send an answer or a refusal at once; if the other side does not read it, stop reading until it
        does.
        """
        try:
            self._write(frame)
        except LinkClosed:
            return  # nobody is there to take it
        self._answer_bytes += len(frame)
        if not self.transport.pending:
            self._answer_bytes = 0
        limit = ALLOWED_WHILE_CALLING if self._calls else self.transport.limits.high
        if min(self._answer_bytes, self.transport.pending) > limit and UNREAD not in self._holds:
            self.hold(UNREAD)
            self.begin(self._listen_again())

    def _write(self, block: bytes) -> None:
        if self._keep:
            self.transcript.append(TranscriptFrame(other_party(self._role.party), block.removesuffix(b"\n")))
        self.transport.write(block)

    def next_id(self) -> int:
        return next(self._ids)

    async def call(self, method: str, params: object) -> Json:
        """Send a request and wait for the result; raises `CallFailed` for an error. A caller that stops
        waiting sends a cancel.
        """
        call_id = self.next_id()
        answer = self._calls[call_id] = asyncio.get_running_loop().create_future()
        try:
            await self.send({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
            result = await answer
        except asyncio.CancelledError:
            if not self.closing:
                self.tell(notification("$/cancel_request", b'{"requestId":%d}' % call_id))
            raise
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

    def on_oversized(self, size: int) -> None:
        self._role.on_oversized_frame(size)

    def on_end(self, reason: BaseException | None) -> None:
        for answer in self._calls.values():
            if not answer.done():
                answer.set_result(LinkClosed("the other side has left"))
        self.over.set()
        self._role.on_end()

    def wake_waiters(self, method: str) -> None:
        """Wake the lines of the script that wait for this method."""
        if self._method_events and method in self._method_events:
            self._method_events.pop(method).set()

    async def until(self, method: str) -> None:
        """Wait until the other side sends the next message of this method."""
        await self._method_events.setdefault(method, asyncio.Event()).wait()

    def _hear(self, line: bytes) -> None:
        if self._keep:
            self.transcript.append(TranscriptFrame(self._role.party, line))
        envelope = decode(line)
        match envelope:
            case Response(call_id, result) if call_id in self._calls:
                try:
                    self._settle(call_id, plain_data(result))
                except ValueError:
                    self._settle(call_id, ErrorObject(0, "the answer cannot be read"))
            case Failure(call_id, error) if call_id in self._calls:
                self._settle(call_id, error)
            case _:
                self._role.on_frame(line, envelope)

    def _settle(self, call_id: object, answer: object) -> None:
        waiting = self._calls[call_id]
        if not waiting.done():
            waiting.set_result(answer)

    # How it moves, and how it ends.

    def begin(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Start work that ends with the peer."""
        task = asyncio.get_running_loop().create_task(work, name="a scene of a script")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def hold(self, why: str) -> None:
        """Stop reading, so that the other side slows down. Each reason is removed separately."""
        self._holds.add(why)
        self.transport.pause()

    def listen(self, why: str) -> None:
        if why in self._holds:
            self._holds.discard(why)
            if not self._holds:
                self.transport.resume()

    async def _listen_again(self) -> None:
        try:
            await self.transport.drain()
        except LinkClosed:
            pass  # the end of the connection is told by the transport
        self.listen(UNREAD)

    async def moving(self) -> None:
        """Wait while the peer stalls."""
        await self._moving.wait()

    async def stall(self, seconds: float | None) -> None:
        """Neither read nor send, for a while or for ever."""
        self.hold(STALLED)
        self._moving.clear()
        await asyncio.sleep(seconds) if seconds is not None else await asyncio.Event().wait()
        self._moving.set()
        self.listen(STALLED)

    async def flush(self) -> None:
        """Wait until all messages are sent, or the other side does not read them."""
        try:
            async with asyncio.timeout(self.transport.limits.flush):
                while self.transport.pending:
                    await self.transport.drain()
                    await asyncio.sleep(0.001)  # `drain` is content with little; this wants all of it
        except (TimeoutError, LinkClosed):
            pass  # what the other side does not read, it does not get

    async def aclose(self, *, grace: float = 0.0) -> None:
        """End the peer. Scenes that still play have `grace` seconds to end by themselves."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        while self._tasks and loop.time() < deadline:
            await asyncio.wait(
                self._tasks, timeout=deadline - loop.time(), return_when=asyncio.FIRST_COMPLETED
            )
        self.closing = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.transport.aclose()


def plain_data(raw: msgspec.Raw | None) -> Json:
    """Decode JSON as dicts, lists and values; lone surrogates are replaced. Raises ValueError for values that
    no machine can hold.
    """
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        pass  # left behind: it may hold text of the message
    try:
        return msgspec.json.decode(mend_surrogates(bytes(raw)))
    except (ValueError, RecursionError):
        raise ValueError("it cannot be read") from None
