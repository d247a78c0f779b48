"""Joins two transports: passes the frames of each side to the other, byte for byte.

What it promises:
- Frames pass in whole blocks, in order, unchanged and undecoded; a watcher gets a glance at each envelope.
- A slow reader slows the one who writes to it, and nobody else: reading from one side stops while the other
  side's pending bytes are above its mark.
- The end is orderly. When the client hangs up, the agent sees the end of its input and may still say its last
  words; when the agent ends, everything that it said is flushed before the client sees the end.
- A frame above the limit is skipped by its transport; its sender is told so, and the frames behind it pass.
- No task outlives `aclose`.

An interpreter may stand on the way: it then decides what goes on (see `RelayInterpreter`). The relay itself
knows newlines and nothing of ACP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from dragoman.errors import LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.transport.contract import Transport
from dragoman.wire import error_object, failure
from dragoman.wire.codes import INVALID_REQUEST
from dragoman.wire.glance import Glance, glance_block

log = logging.getLogger(__name__)

Direction: TypeAlias = Literal["to_agent", "to_client"]

Watch: TypeAlias = Callable[[Direction, list[Glance], bytes], None]
"""Called with each block before it is passed on, in order."""

LAST_WORDS = 2.0
"""The seconds that an agent has after the end of its input, if its process does not report its end."""

LAST_BYTES = 64 * 1024 * 1024
"""The most bytes that an agent may send after the end of its input if the client does not read them. The
agent can't be slowed down any more: it would lose its unwritten output.
"""

SLOW = "the other side does not take what is sent to it"


class RelayInterpreter(Protocol):
    """An object in a relay that decides which frames are passed on."""

    def take(self, way: RelayDirection, block: bytes) -> None:
        """Handle a block instead of passing it on; send frames to pass on to `way.send`."""

    async def finish(self, way: RelayDirection, seconds: float) -> None:
        """The source of `way` has ended and its target will end: send the held frames within the time
        limit.
        """


@runtime_checkable
class HalfClosable(Protocol):
    """A transport that can close its output and still read."""

    async def finish_writing(self) -> None: ...
    def release(self) -> None: ...


class RelayDirection:
    """One direction of a relay: the sink of its source."""

    __slots__ = ("_holds", "_relay", "closing", "direction", "over", "reason", "source", "target")

    def __init__(self, relay: Relay, direction: Direction, source: Transport, target: Transport) -> None:
        self.direction = direction
        self.source = source
        self.target = target
        self.over = asyncio.Event()  # the source has ended
        self.reason: BaseException | None = None  # why it did, if not in an orderly way
        self.closing = False  # we are ending the source: it cannot be made to wait any more
        self._relay = relay
        self._holds: set[str] = set()  # why reading is stopped

    def send(self, block: bytes) -> None:
        """Send whole frames to the target. Frames without a reader are lost."""
        try:
            self.target.write(block)
        except LinkClosed:
            return  # the relay learns of its end from the target itself
        pending = self.target.pending
        if pending > (LAST_BYTES if self.closing else self.target.limits.high) and SLOW not in self._holds:
            self.hold(SLOW)
            self._relay.owner.start(self._listen_again())

    def hold(self, why: str) -> None:
        """Stop reading from the source, so that the source slows down. Each reason is removed separately."""
        if not self._holds:
            self.source.pause()
        self._holds.add(why)

    def listen(self, why: str) -> None:
        """Remove this reason to stop reading."""
        if why in self._holds:
            self._holds.remove(why)
            if not self._holds:
                self.source.resume()

    # The sink.

    def feed(self, block: bytes) -> None:
        # The last frame of a stream may lack its newline; behind it may come one of ours.
        self._relay.passes(self, block if block[-1:] == b"\n" else block + b"\n")

    def on_oversized(self, size: int) -> None:
        limit = self.source.limits.frame
        log.warning("%s: skipped a message of %d bytes; the limit is %d", self.direction, size, limit)
        why = (
            f"Invalid request: the message is larger than the limit of {limit} bytes, or than the free memory"
        )
        self._relay.back(self).send(failure(None, error_object(INVALID_REQUEST, why)))

    def on_end(self, reason: BaseException | None) -> None:
        self.reason = reason
        self.over.set()
        self._relay.end_event.set()

    async def _listen_again(self) -> None:
        try:
            await self.target.drain()
        except LinkClosed:
            pass  # nobody will read this any more; reading on lets the source say that it ends
        self.listen(SLOW)


class Relay:
    """`async with Relay(client, agent) as relay: await relay.wait_ended()`; leaving the block ends both."""

    def __init__(
        self,
        client: Transport,
        agent: Transport,
        *,
        watch: Watch | None = None,
        interpreter: RelayInterpreter | None = None,
        name: str = "relay",
    ) -> None:
        self.name = name
        self.to_agent = RelayDirection(self, "to_agent", client, agent)
        self.to_client = RelayDirection(self, "to_client", agent, client)
        self.end_event = asyncio.Event()  # one side has
        self.owner = TaskOwner(name)
        self._watch = watch
        self._interpreter = interpreter
        self._closing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.to_client.source.start(self.to_client)
        self.to_agent.source.start(self.to_agent)

    def back(self, way: RelayDirection) -> RelayDirection:
        """The other direction."""
        return self.to_client if way is self.to_agent else self.to_agent

    def passes(self, way: RelayDirection, block: bytes) -> None:
        """Called while a block passes."""
        if self._watch is not None:
            try:
                self._watch(way.direction, glance_block(block), block)
            except Exception:  # whoever only watches does not stop what it watches
                log.exception("%s: the watcher failed", self.name)
        if self._interpreter is None:
            way.send(block)
        else:
            self._interpreter.take(way, block)

    async def wait_ended(self) -> None:
        """Wait until one side is gone. Closing then ends the other side in an orderly way."""
        await self.end_event.wait()

    async def aclose(self, *, grace: float = LAST_WORDS) -> None:
        """End both sides, in an orderly way where possible. May be called again."""
        if self._closing is None:
            closing = self._close(grace)
            self._closing = asyncio.get_running_loop().create_task(closing, name=f"{self.name} closing")
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Relay:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _close(self, grace: float) -> None:
        client, agent = self.to_agent.source, self.to_client.source
        try:
            if not self.to_client.over.is_set():
                await self._finish(self.to_agent, grace)
                await self._hear_last_words(agent, grace)
            await self._finish(self.to_client, grace)
        finally:
            await asyncio.gather(client.aclose(), agent.aclose())
            await self.owner.aclose()

    async def _finish(self, way: RelayDirection, grace: float) -> None:
        if self._interpreter is not None:
            await self._interpreter.finish(way, grace)

    async def _hear_last_words(self, agent: Transport, grace: float) -> None:
        """Let the agent see the end of its input, and pass on what it says to that."""
        self.to_client.closing = True
        self.to_client.listen(SLOW)
        if not isinstance(agent, HalfClosable):
            await agent.aclose()  # a child process is waited for, and heard, until it is gone
            return
        await agent.finish_writing()
        try:
            async with asyncio.timeout(grace):
                await self.to_client.over.wait()
        except TimeoutError:
            log.info("%s: the agent did not end within %g s of its input", self.name, grace)
        finally:
            agent.release()
