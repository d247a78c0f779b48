"""Answers a thread protocol client's requests for history, and passes all others on.

It stands between the wire and the dialect, because only that wire has such questions. Answers come in the
order in which they are ready, as that protocol allows. What is asked at once is bounded, and an answer counts
until it was taken: a client that asks and does not read waits for itself.
"""

from __future__ import annotations

import msgspec

from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.glance import glance, lines_of
from dragoman_hub.api.history_api import HistoryApi
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.table import check_history

AT_ONCE = 8
"""Questions that are being answered: each may read a whole stream, and fill some megabytes."""


class HistoryDoor(PassingTransport):
    """A transport that answers requests for history itself. `owner` ends running answers."""

    def __init__(self, inner: Transport, history: HistoryApi, owner: TaskOwner, *, grant: Grant) -> None:
        super().__init__(inner)
        self._history = history
        self._grant = grant
        self._owner = owner
        self._answering = 0
        self._sink: Sink | None = None

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self.inner.start(_AskedSink(self, sink))

    def on_block(self, block: bytes) -> None:
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
        head = glance(line)
        try:
            check_history(self._grant, str(head.method))
        except ErrorAnswer as refused:
            refusal = {"code": refused.code, "message": refused.message}
            self._tell(msgspec.json.encode({"id": head.id, "error": refusal}))
            return
        if self._answering < AT_ONCE:
            self._answering += 1
            self._owner.start(self._answer(line))
        else:
            error = {"code": INTERNAL_ERROR, "message": "too much is waiting already"}
            self._tell(msgspec.json.encode({"id": head.id, "error": error}))

    async def _answer(self, line: bytes) -> None:
        try:
            self._tell(await self._history.answer(line))
            await self.inner.drain()
        except LinkClosed:
            pass  # whoever asked has gone
        finally:
            self._answering -= 1

    def _tell(self, answer: bytes) -> None:
        try:
            self.inner.write(answer + b"\n")
        except LinkClosed:
            pass  # whoever asked has gone


class _AskedSink:
    __slots__ = ("_door", "on_end", "on_oversized")

    def __init__(self, door: HistoryDoor, sink: Sink) -> None:
        self._door = door
        self.on_oversized = sink.on_oversized
        self.on_end = sink.on_end

    def feed(self, block: bytes) -> None:
        self._door.on_block(block)
