"""Stands before a client of the thread protocol and answers what is about history; the rest passes."""

from __future__ import annotations

from dragoman.errors import LinkClosed
from dragoman.hub.history_api import HistoryApi
from dragoman.runtime.owner import Owner
from dragoman.transport.contract import Limits, Sink, Transport
from dragoman.wire.glance import lines_of

AT_ONCE = 8
"""Questions that are answered at once; more are for the dialect, which knows less, or for later."""


class HistoryDoor:
    """A transport that keeps questions of one kind to itself."""

    def __init__(self, inner: Transport, history: HistoryApi, owner: Owner) -> None:
        self._inner = inner
        self._history = history
        self._owner = owner
        self._answering = 0
        self._sink: Sink | None = None

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self._inner.start(self)

    # The sink of the transport behind it.

    def feed(self, block: bytes) -> None:
        assert self._sink is not None
        if b"getThread" not in block:
            self._sink.feed(block)
            return
        for frame in lines_of(block):
            if self._answering < AT_ONCE and self._history.takes(frame):
                self._answering += 1
                self._owner.start(self._answer(frame))
            else:
                self._sink.feed(frame)

    def oversized(self, size: int) -> None:
        assert self._sink is not None
        self._sink.oversized(size)

    def ended(self, reason: BaseException | None) -> None:
        assert self._sink is not None
        self._sink.ended(reason)

    async def _answer(self, frame: bytes) -> None:
        try:
            self._inner.write(await self._history.answer(frame) + b"\n")
        except LinkClosed:
            pass  # whoever asked has gone
        finally:
            self._answering -= 1

    # The transport itself.

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self._inner.write(block)

    @property
    def pending(self) -> int:
        return self._inner.pending

    @property
    def limits(self) -> Limits:
        return self._inner.limits

    async def drain(self) -> None:
        await self._inner.drain()

    def pause(self) -> None:
        self._inner.pause()

    def resume(self) -> None:
        self._inner.resume()

    async def aclose(self) -> None:
        await self._inner.aclose()
