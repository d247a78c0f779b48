"""A transport that shows its frames to an observer, in both directions, before they have any effect.

The tap gets whole blocks as they pass: one or more frames, each with its newline, except that a lone frame
that was read may lack it. It must not wait; an exception of its own is logged and stops nothing. What was
written is tapped when it leaves our side, which does not say that the peer has read it. Who taps nothing pays
nothing, because nothing stands in between then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport

log = logging.getLogger(__name__)

Direction: TypeAlias = Literal["to_agent", "to_client"]

Tap: TypeAlias = Callable[[Direction, bytes], None]
"""Called with each block as it passes, and its direction."""


class TappedTransport(PassingTransport):
    """Wraps `inner`, whose other end is an agent unless `peer` is set."""

    def __init__(self, inner: Transport, tap: Tap, *, peer: Literal["agent", "client"] = "agent") -> None:
        super().__init__(inner)
        self._tap = tap
        self._out: Direction = "to_agent" if peer == "agent" else "to_client"
        self._in: Direction = "to_client" if peer == "agent" else "to_agent"

    def start(self, sink: Sink) -> None:
        self.inner.start(_TappedSink(sink, self))

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.show(self._out, bytes(block))  # its owner may change the block as soon as it was written
        self.inner.write(block)

    def came(self, block: bytes) -> None:
        self.show(self._in, block)

    def show(self, direction: Direction, block: bytes) -> None:
        try:
            self._tap(direction, block)
        except Exception:  # whoever only looks on does not stop what it looks at
            log.exception("the tap failed")


class _TappedSink:
    __slots__ = ("_came", "_sink", "on_end", "on_oversized")

    def __init__(self, sink: Sink, transport: TappedTransport) -> None:
        self._sink = sink
        self._came = transport.came
        self.on_oversized = sink.on_oversized
        self.on_end = sink.on_end

    def feed(self, block: bytes) -> None:
        self._came(block)
        self._sink.feed(block)
