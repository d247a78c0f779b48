"""A transport whose peer may ask for history: those questions are answered here, everything else passes.

It stands between the wire and the dialect, because only the wire of the thread protocol has such questions:
`HistoryTransport(wire, history)` is what the interpreter is put in front of. Answers come in the order in
which they are ready, as that protocol allows. What is asked at once is bounded; what is beyond is refused.
"""

from __future__ import annotations

import msgspec

from dragoman.errors import LinkClosed
from dragoman.hub.history_api import HistoryApi
from dragoman.runtime.owner import Owner
from dragoman.transport.contract import Limits, Sink, Transport
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.glance import glance, lines_of

AT_ONCE = 8
"""Questions that are being answered: each may read a whole stream."""


class HistoryTransport:
    """Stands in front of `inner`."""

    def __init__(self, inner: Transport, history: HistoryApi) -> None:
        self.inner = inner
        self._history = history
        self._owner: Owner | None = None
        self._sink: Sink | None = None

    def start(self, sink: Sink) -> None:
        self._owner = Owner("history")
        self._sink = sink
        self.inner.start(_AskedSink(self, sink))

    def heard(self, block: bytes) -> None:
        assert self._sink is not None
        if b"getThread" not in block:  # nearly everything
            self._sink.feed(block)
            return
        rest = b""
        for line in lines_of(block):
            if self._history.takes(line):
                self._ask(line)
            else:
                rest += line
        if rest:
            self._sink.feed(rest)

    def _ask(self, line: bytes) -> None:
        assert self._owner is not None
        if len(self._owner) < AT_ONCE:
            self._owner.start(self._answer(line))
        else:
            error = {"code": INTERNAL_ERROR, "message": "too much is waiting already"}
            self._tell(msgspec.json.encode({"id": glance(line).id, "error": error}))

    async def _answer(self, line: bytes) -> None:
        self._tell(await self._history.answer(line))
        try:
            await self.inner.drain()  # a reader that does not take its answers is not given more of them
        except LinkClosed:
            pass

    def _tell(self, answer: bytes) -> None:
        try:
            self.inner.write(answer + b"\n")
        except LinkClosed:
            pass  # whoever asked is gone

    # The rest is the wire's own.

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.inner.write(block)

    @property
    def pending(self) -> int:
        return self.inner.pending

    @property
    def limits(self) -> Limits:
        return self.inner.limits

    async def drain(self) -> None:
        await self.inner.drain()

    def pause(self) -> None:
        self.inner.pause()

    def resume(self) -> None:
        self.inner.resume()

    async def aclose(self) -> None:
        if self._owner is not None:
            await self._owner.aclose()
        await self.inner.aclose()


class _AskedSink:
    __slots__ = ("_transport", "ended", "oversized")

    def __init__(self, transport: HistoryTransport, sink: Sink) -> None:
        self._transport = transport
        self.oversized = sink.oversized
        self.ended = sink.ended

    def feed(self, block: bytes) -> None:
        self._transport.heard(block)
