"""A transport that carries one conversation over many connections.

It opens a connection, and another when that breaks, for as long as it is wanted; `Resumption` says what has
to be said on each. Whoever reads from it sees a pause. While there is no connection, what is written waits
and counts as `pending`, so that its writer waits too. It ends when it is closed, when the peer is not a hub
and ends, when the hub refuses us, or when it was gone for longer than `give_up`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from secrets import token_hex
from typing import Literal

from msgspec import Struct

from dragoman.errors import DragomanError, LinkClosed, LocalMistake
from dragoman.sdk.resumption.resumption import Resumption
from dragoman.transport.contract import DEFAULT_LIMITS, Sink, Transport, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman.wire.glance import lines_of

FIRST = 0.1
MOST = 15.0
DOUBLINGS = 10
"""The number of doublings until `MOST`: a power without a limit would grow for ever."""


class Backoff:
    """Returns the seconds to wait after this number of failed attempts, from 0."""

    def __init__(
        self, *, first: float = FIRST, most: float = MOST, chance: Callable[[], float] = random.random
    ) -> None:
        self._first = first
        self._most = most
        self._chance = chance

    def __call__(self, failures: int) -> float:
        whole = min(self._most, self._first * float(2 ** min(failures, DOUBLINGS)))
        return whole * (0.5 + self._chance() / 2)


COMING_BACK = 120.0
"""The seconds that a hub has to answer after a reconnect: it may have to start agents first."""


class ConnectionNotice(Struct, frozen=True, kw_only=True):
    """The state of the connection. `seconds`: until the next attempt, or since the connection was lost."""

    kind: Literal["unreached", "lost", "back"]
    seconds: float
    reason: str = ""


class ResumingTransport:
    """Keeps a conversation over many connections. `open_` returns a connection, or raises `LinkClosed` if
    there is none now. `is_final` tells whether the reason of an end is final, given whether a hub was there
    before.
    """

    def __init__(
        self,
        open_: Callable[[], Awaitable[Transport]],
        *,
        agent: str | None = None,
        give_up: float | None = None,
        patience: float = COMING_BACK,
        limits: TransportLimits = DEFAULT_LIMITS,
        backoff: Callable[[int], float] | None = None,
        is_final: Callable[[BaseException, bool], bool] = lambda reason, is_known: False,
        on_notice: Callable[[ConnectionNotice], None] | None = None,
    ) -> None:
        self.limits = limits
        self.core = Resumption(client=token_hex(16), agent=agent)
        self.first_attempt = asyncio.Event()
        """The first attempt has succeeded or failed."""
        self.is_unreached = False
        """Whether the server was tried and has never said anything."""
        self._spoke = False
        self._open = open_
        self._give_up = give_up
        self._patience = patience
        self._backoff = backoff or Backoff()
        self._is_final = is_final
        self._on_notice = on_notice or (lambda notice: None)
        self._sink: Sink | None = None
        self._run: asyncio.Task[None] | None = None
        self._inner: Transport | None = None
        self._end_event: asyncio.Event = asyncio.Event()  # this connection has ended
        self._reason: BaseException | None = None
        self._reading = asyncio.Event()
        self._reading.set()
        self._pending_frames: list[bytes] = []  # for the sink, while it is paused
        self._waiters = Waiters()
        self._close_reason = ""
        self._closing: asyncio.Task[None] | None = None
        self._has_ended = False
        self._has_flushed = False  # what was held had its time
        self._lost_at: float | None = None

    # The contract.

    def start(self, sink: Sink) -> None:
        if self._sink is not None:
            raise RuntimeError("a transport is started once")
        self._sink = sink
        if self._close_reason:
            self._end(None)
            return
        self._run = asyncio.get_running_loop().create_task(self._stay())

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._close_reason:
            raise LinkClosed(self._close_reason)
        if self.core.phase == "plain" and self._inner is not None:
            self._inner.write(block)
            return
        for frame in lines_of(bytes(block)):
            self.core.say(frame)
        self._carry()

    @property
    def pending(self) -> int:
        return 0 if self._close_reason else self.core.held_bytes + (self._inner.pending if self._inner else 0)

    async def drain(self) -> None:
        while self.pending > self.limits.low:
            await self._drain_some()
        if self._close_reason:
            raise LinkClosed(self._close_reason)

    async def _drain_some(self) -> None:
        inner = self._inner
        if inner is not None and inner.pending > self.limits.low:
            try:
                await inner.drain()
                return
            except LinkClosed:
                if inner is not self._inner:
                    return
        await self._waiters.wait()

    def pause(self) -> None:
        self._reading.clear()
        if self._inner is not None:
            self._inner.pause()

    def resume(self) -> None:
        self._reading.set()
        self._feed()
        if self._inner is not None and self._reading.is_set():
            self._inner.resume()

    async def finish_writing(self) -> None:
        """Send waiting messages within the time limit. The hub does not learn of the end yet."""
        await self._flush_held()
        if self._inner is not None and hasattr(self._inner, "finish_writing"):
            await self._inner.finish_writing()

    async def _flush_held(self) -> None:
        """Wait once, within the limit, until the held frames are sent."""
        try:
            async with asyncio.timeout(0 if self._has_flushed else self.limits.flush):
                while self.core.held_bytes and not self._close_reason:
                    await self._waiters.wait()
        except TimeoutError:
            pass  # nobody is there to take it
        self._has_flushed = True

    def cursor(self, session: str) -> str:
        """The position in this session up to which the reader has received the stream, as the hub's
        cursor.
        """
        return self.core.cursor(session)

    def release(self) -> None:
        """Do nothing: `aclose` frees everything."""

    async def aclose(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._flush_held()
        if self._run is not None and not self._run.done():
            self._run.cancel()  # it closes the connection, which flushes
            await asyncio.wait((self._run,))
        self._break("written to after close")
        self._end(None)

    # One connection after the other.

    async def _stay(self) -> None:
        failures = 0
        try:
            while True:
                reason = await self._converse()
                failures = 0 if self._lost_at is None else failures + 1
                if self._lost_at is None:
                    self._lost_at = asyncio.get_running_loop().time()
                self.is_unreached = not self._spoke
                wait = self._backoff(failures)
                if why := self._enough(reason, wait):
                    break
                kind: Literal["unreached", "lost"] = "unreached" if self.is_unreached else "lost"
                self._on_notice(ConnectionNotice(kind=kind, seconds=wait, reason=_words(reason)))
                await asyncio.sleep(wait)
        except LocalMistake as mistake:  # the address makes no sense, or a package is missing
            why = mistake
        await self._finish(why)

    def _enough(self, reason: BaseException | None, wait: float) -> DragomanError | BaseException | None:
        """The reason to stop reconnecting; None to go on."""
        assert self._lost_at is not None
        if not self.core.survives:
            return reason or LinkClosed("the server ended the connection")
        if reason is not None and self._is_final(reason, bool(self.core.is_hub)):
            return reason
        seconds_gone = asyncio.get_running_loop().time() - self._lost_at
        if self._give_up is not None and seconds_gone + wait > self._give_up:
            return LinkClosed(f"the hub was gone for {seconds_gone:.1f} seconds ({_words(reason)})")
        return None

    async def _converse(self) -> BaseException | None:
        """One connection, from its opening to its end."""
        try:
            inner = await self._open()
        except LinkClosed as error:
            return error
        finally:
            self.first_attempt.set()
        self._inner, self._end_event, self._reason = inner, asyncio.Event(), None
        try:
            inner.start(_Ear(self, inner))
            if not self._reading.is_set():
                inner.pause()
            self.core.on_open()
            self._carry()
            await self._until_over()
            return self._reason
        finally:
            try:
                await inner.aclose()
            finally:
                self._inner = None
                self.core.on_connection_lost()
                self._carry()

    async def _until_over(self) -> None:
        """Wait until the connection ends, or until the hub has not taken us back in time."""
        if self.core.is_hub:
            try:
                async with asyncio.timeout(self._patience):
                    while self.core.phase != "live" and not self._end_event.is_set():
                        await self._waiters.wait()
            except TimeoutError:
                self._reason = LinkClosed("the hub did not answer in time")
                return
        await self._end_event.wait()

    async def _finish(self, why: BaseException) -> None:
        self.core.give_up(_words(why))
        self._carry()
        await self._reading.wait()
        self._break(_words(why))
        self._end(why)

    # What is heard on a connection.

    def _on_block(self, inner: Transport, block: bytes) -> None:
        if inner is not self._inner:
            return  # the last words of a connection that we have given up
        self._spoke, self.is_unreached = True, False
        if self.core.phase == "plain":
            self._pending_frames.append(block)
            self._feed()
            return
        self.core.hear_block(block)
        self._carry()
        if self.core.fault:
            self._hung_up(inner, LinkClosed(self.core.fault))
        elif self._lost_at is not None and self.core.phase in ("live", "plain"):
            self._is_back()

    def _is_back(self) -> None:
        assert self._lost_at is not None
        away = asyncio.get_running_loop().time() - self._lost_at
        self._lost_at = None
        self._on_notice(ConnectionNotice(kind="back", seconds=away))

    def _hung_up(self, inner: Transport, reason: BaseException | None) -> None:
        if inner is self._inner and not self._end_event.is_set():
            self._reason = reason
            self._end_event.set()
            self._waiters.wake()

    def _carry(self) -> None:
        """Move frames from the core to the hub and to the editor."""
        frames, self.core.to_hub = self.core.to_hub, []
        if frames and self._inner is not None:
            try:
                self._inner.write(b"".join(frames))
            except LinkClosed:
                pass  # its end is on its way to us; what needs saying is said again on the next one
        self._pending_frames += self.core.to_editor
        self.core.to_editor = []
        self._feed()
        self._waiters.wake()

    def _feed(self) -> None:
        if self._pending_frames and self._reading.is_set() and self._sink is not None and not self._has_ended:
            block, self._pending_frames = b"".join(self._pending_frames), []
            self._sink.feed(block)

    def _break(self, why: str) -> None:
        self._close_reason = self._close_reason or why
        self._waiters.wake()

    def _end(self, reason: BaseException | None) -> None:
        if self._sink is not None and not self._has_ended:
            self._has_ended = True
            self._sink.on_end(reason)


class _Ear:
    """The sink of one connection."""

    def __init__(self, owner: ResumingTransport, inner: Transport) -> None:
        self._owner = owner
        self._inner = inner

    def feed(self, block: bytes) -> None:
        self._owner._on_block(self._inner, block)

    def on_oversized(self, size: int) -> None:
        if self._owner._sink is not None:
            self._owner._sink.on_oversized(size)

    def on_end(self, reason: BaseException | None) -> None:
        self._owner._hung_up(self._inner, reason)


def _words(reason: BaseException | None) -> str:
    return "the connection was closed" if reason is None else str(reason) or type(reason).__name__
