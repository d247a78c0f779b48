"""A transport whose peer speaks another dialect: an interpreter between the two translates.

What the interpreter answers to the peer itself goes straight back; what it says to us without having heard
anything, because we wrote something that the peer has no words for, comes with the next turn of the loop,
never from inside `write`. It knows blocks of frames and nothing of what they mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport


class TranslatedBlock(Protocol):
    """The result of translating a block."""

    @property
    def inside(self) -> bytes: ...
    @property
    def peer(self) -> bytes: ...
    @property
    def host(self) -> list[tuple[int, Any]]: ...


class TransportInterpreter(Protocol):
    """The interface of `dragoman.dialect.Translator` that this package needs."""

    def from_peer(self, block: bytes) -> TranslatedBlock: ...
    def from_inside(self, block: bytes) -> TranslatedBlock: ...
    def from_host(self, position: int, message: Any) -> TranslatedBlock: ...
    def peer_ended(self) -> TranslatedBlock: ...


@runtime_checkable
class HoldingInterpreter(Protocol):
    """An interpreter that may hold messages for the peer until the peer has sent one."""

    @property
    def holding(self) -> bool: ...


@runtime_checkable
class RemovableInterpreter(Protocol):
    """An interpreter that may find that no translation is necessary."""

    @property
    def is_transparent(self) -> bool: ...


HOLD_SECONDS = 2.0
"""The seconds that a close waits for a peer that must send before it can receive the rest."""

Host = Callable[[int, Any], None]
"""Handles the requests of an edge to its host; the answer goes to `TranslatedTransport.answer`."""


class TranslatedTransport(PassingTransport):
    """Wraps `inner`. Without a `host`, edges can't send requests to one."""

    def __init__(
        self, inner: Transport, interpreter: TransportInterpreter, *, host: Host | None = None
    ) -> None:
        super().__init__(inner)
        self._interpreter = interpreter
        self._host = host
        self._sink: Sink | None = None
        self._blocks: list[bytes] = []  # for our side, not yet fed
        self._is_paused = False
        self._is_woken = False
        self._is_closed = False
        self._end: tuple[BaseException | None] | None = None  # the peer's, until our side has been told
        self._has_peer_ended = False
        self._peer_event = asyncio.Event()  # the peer has said something
        self._fading = interpreter if isinstance(interpreter, RemovableInterpreter) else None
        self._has_faded = False  # and never has anything to do again

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self.inner.start(_TranslatingSink(self, sink))

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._is_closed:  # an interpreter may have an answer of its own to this
            raise LinkClosed("written to after close")
        if (self._has_faded or self._fades()) and not self._has_peer_ended:
            self.inner.write(block)
            return
        translation = self._interpreter.from_inside(bytes(block))
        if not self._has_peer_ended:
            self.take(translation)
        elif translation.peer:
            # The peer sends nothing more, but it may still read: it may wait for our answers.
            self.inner.write(translation.peer)
        elif translation.inside:  # the interpreter answers in its place, but the end has been told
            raise LinkClosed("the peer has closed its end")

    def _fades(self) -> bool:
        self._has_faded = self._fading is not None and self._fading.is_transparent
        return self._has_faded

    def on_block(self, block: bytes) -> None:
        has_faded = self._has_faded or self._fades()
        if has_faded and self._sink is not None and not self._blocks and not self._is_paused:
            self._sink.feed(block)
            return
        self.take(self._interpreter.from_peer(block))
        self._peer_event.set()
        self.feed()

    def on_peer_end(self, reason: BaseException | None) -> None:
        self._has_peer_ended = True
        self._peer_event.set()
        self._end = (reason,)
        self.take(self._interpreter.peer_ended())
        if self._is_closed and self._is_paused:  # by us, who do not want to hear any more
            self._blocks.clear()
        self.feed()

    def answer(self, position: int, message: Any) -> None:
        """Pass on the host's answer to a request of an edge. A late answer is ignored."""
        if not self._has_peer_ended:
            self.take(self._interpreter.from_host(position, message))

    def take(self, translation: TranslatedBlock) -> None:
        if translation.inside:
            self._blocks.append(translation.inside)
            if not self._is_woken:
                self._is_woken = True
                asyncio.get_running_loop().call_soon(self._wake)
        if translation.peer and not self._has_peer_ended:
            self.inner.write(translation.peer)
        if self._host is not None:
            for position, message in translation.host:
                self._host(position, message)

    def feed(self) -> None:
        """Feed our side the held messages, unless it has paused; then the end, if it has come."""
        while self._blocks and not self._is_paused and self._sink is not None:
            block = b"".join(self._blocks)
            self._blocks.clear()
            self._sink.feed(block)
        if self._end is not None and not self._blocks and self._sink is not None:
            (reason,), self._end = self._end, None
            self._sink.on_end(reason)

    def _wake(self) -> None:
        self._is_woken = False
        self.feed()

    def pause(self) -> None:
        self._is_paused = True
        self.inner.pause()

    def resume(self) -> None:
        self._is_paused = False
        self.feed()
        if not self._is_paused:
            self.inner.resume()

    async def aclose(self) -> None:
        await self._let_go()
        self._is_closed = True
        await self.inner.aclose()
        self._blocks.clear()
        self.feed()

    async def _let_go(self) -> None:
        """Who closes right after writing, as a script does, means what it wrote."""
        interpreter = self._interpreter
        if self._is_closed or not isinstance(interpreter, HoldingInterpreter):
            return
        try:
            async with asyncio.timeout(HOLD_SECONDS):
                while interpreter.holding and not self._has_peer_ended:
                    self._peer_event.clear()
                    await self._peer_event.wait()
        except TimeoutError:
            pass  # a peer that does not speak is not waited for for ever


class _TranslatingSink:
    __slots__ = ("_transport", "on_oversized")

    def __init__(self, transport: TranslatedTransport, sink: Sink) -> None:
        self._transport = transport
        self.on_oversized = sink.on_oversized

    def feed(self, block: bytes) -> None:
        try:
            self._transport.on_block(block)
        except LinkClosed:  # an answer of the interpreter came too late for its peer
            self._transport.feed()

    def on_end(self, reason: BaseException | None) -> None:
        self._transport.on_peer_end(reason)
